"""Read what the scope needs of the workspace at the start of a run: names, ignore rules, and signs of tests."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from ...host.ignored_files import Ignore, pattern_lines
from ...host.plain_files import reader_of
from ...repo.checkout.dependency_folders import dependency_kinds
from ..checks.script_imports import script_text
from ..scope.source_names import ending_of, is_dependency_folder, is_source, is_test_name, marks_of, source_endings

_HEAD = 16_384
"""Bytes of a source that are searched for signs of a test."""
_MOST_HEADS = 20_000
"""Most sources that are searched."""
_ASSERT = re.compile(r"^\s*assert\s*\(", re.MULTILINE)
_MAIN = re.compile(r"^\s*(?:int|void|auto)?\s*main\s*\(", re.MULTILINE)
_C = (".c", ".cc", ".cpp", ".cxx", ".m")
_FEW = 3
"""A program in C with this many assertions next to its `main` is a test."""
_INNER = "import.meta.vitest"
_PACKAGE = "__init__.py"
_AFFIXES = ("test", "tests")


@dataclass(slots=True)
class StartFiles:
    """The files of the start that git does not ignore, outside of packages and other repositories."""

    root: Path
    files: set[str] = field(default_factory=set[str])
    """Regular files, relative to the workspace."""
    sources: list[str] = field(default_factory=list[str])
    """The sources among them, sorted."""
    folders: set[str] = field(default_factory=set[str])
    """Folders that were read, relative to the workspace, without the workspace itself."""
    ignore: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """The lines of each `.gitignore`, by its folder (`a/b/`)."""
    excludes: tuple[list[str], ...] = ()
    closed: set[str] = field(default_factory=set[str])
    """Folders of installed packages and other repositories. They were not read."""
    scripts: set[str] = field(default_factory=set[str])
    """Files without an ending that begin with `#!`."""
    tests: dict[str, str] = field(default_factory=dict[str, str])
    """Sources that are tests by their content or by the name of another source, with the reason."""
    inner: set[str] = field(default_factory=set[str])
    """Sources that have their tests inside (vitest)."""
    runs_doctests: bool = False
    """A source mentions Python's doctest."""

    @property
    def endings(self) -> tuple[str, ...]:
        """Endings of the sources that are not tests by name, the most frequent first."""
        counts = Counter(ending_of(path) for path in self.sources if not is_test_name(path))
        return tuple(ending for ending, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    def python_roots(self) -> set[str]:
        """Return the folders in which Python looks for modules: those of modules and packages outside of packages."""
        packages = {_folder(path) for path in self.files if path.endswith(f"/{_PACKAGE}") or path == _PACKAGE}
        roots = {_folder(path) for path in self.files if path.endswith(".py")} - packages
        roots |= {above for folder in packages if folder and (above := _folder(folder.rstrip("/"))) not in packages}
        return {*roots, ""}

    def below(self, folder: str) -> list[str]:
        """Return the sources below a folder; the workspace itself is `.`."""
        return [path for path in self.sources if folder == "." or path.startswith(f"{folder}/")]


def read_start(root: Path, env: Mapping[str, str]) -> StartFiles:
    """List the workspace, without what git ignores, and read the beginning of its sources."""
    home = env.get("XDG_CONFIG_HOME") or f"{env.get('HOME', '/nonexistent')}/.config"
    excludes = [Path(home, "git/ignore"), root / ".git/info/exclude"]
    found = StartFiles(root, excludes=tuple(_storable(str(file)) for file in excludes))
    ignore = Ignore(root, excludes=excludes)
    waiting = [("", frozenset[str]())]
    while waiting:
        folder, beside = waiting.pop()
        ignore.refresh(folder)
        entries = ignore.entries(folder)
        names = frozenset(entry.name for entry in entries)
        if folder and (".git" in names or _is_installed(folder, names, beside)):
            found.closed.add(folder[:-1])
            continue
        if folder:
            found.folders.add(folder[:-1])
        if ".gitignore" in names and (lines := _storable(f"{root}/{folder}.gitignore")):
            found.ignore[folder] = lines
        for entry in entries:
            is_folder = entry.is_dir(follow_symlinks=False)
            if ignore.ignores_entry(folder, entry.name, is_folder):
                continue
            if is_folder:
                waiting.append((f"{folder}{entry.name}/", names))
            elif entry.is_file(follow_symlinks=False):
                found.files.add(folder + entry.name)
    found.sources = sorted(path for path in found.files if is_source(path))
    _find_tests(found)
    return found


def _storable(file: str) -> list[str]:
    """Return the lines of a file of patterns, as the journal can keep them."""
    return [line.encode("utf-8", "replace").decode() for line in pattern_lines(file)]


def _is_installed(folder: str, names: frozenset[str], beside: frozenset[str]) -> bool:
    name = PurePosixPath(folder).name
    if is_dependency_folder(name):
        return True
    return any(
        kind.has_name(name)
        and kind.is_beside(beside)
        and (not kind.inside or any(each in names for each in kind.inside))
        for kind in dependency_kinds()
    )


def _find_tests(found: StartFiles) -> None:
    sources = found.sources
    stems = {PurePosixPath(path).name.partition(".")[0].casefold() for path in sources}
    read = 0
    for path in sorted(found.files):
        ending = ending_of(path)
        if (ending and ending not in source_endings()) or is_test_name(path):
            continue
        if ending and _is_of_other(PurePosixPath(path).name.partition(".")[0].casefold(), stems):
            found.tests[path] = "a test by its name"
        if read >= _MOST_HEADS:
            continue
        read += 1
        head = _head(found.root / path)
        if not ending and head.startswith("#!"):
            found.scripts.add(path)
        elif ending == ".py" and "doctest" in head:
            found.runs_doctests = True
        if not _is_test(ending, head):
            continue
        if _INNER in (script_text(found.root / path) or ""):
            found.inner.add(path)
        else:
            found.tests.setdefault(path, "it has tests")


def _is_of_other(stem: str, stems: set[str]) -> bool:
    """Return whether a name is that of another source with `test` before or after it."""
    for affix in _AFFIXES:
        if stem.startswith(affix) and stem.removeprefix(affix) in stems:
            return True
        if stem.endswith(affix) and stem.removesuffix(affix) in stems:
            return True
    return False


def _is_test(ending: str, head: str) -> bool:
    if ending in _C and _MAIN.search(head) and len(_ASSERT.findall(head)) >= _FEW:
        return True
    pattern = marks_of(ending)
    return pattern is not None and pattern.search(head) is not None


def _head(path: Path) -> str:
    """Return the beginning of a regular file; empty if it cannot be read."""
    try:
        with reader_of(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | os.O_NOFOLLOW)) as file:
            return file.read(_HEAD).decode("utf-8", "replace")
    except OSError:
        return ""


def _folder(path: str) -> str:
    """Return the folder of a path with a slash at the end; empty for the workspace."""
    return path[: path.rstrip("/").rfind("/") + 1]
