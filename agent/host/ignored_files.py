"""Decide which files a run ignores: those that `.gitignore` files list, and the usual temporary files of tools."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path

from .files.quick_spec import QuickSpec
from .files.temporary import TEMPORARY_FILES
from .plain_files import read_plain

_ALWAYS = (
    "__pycache__/",
    "*.py[co]",
    ".pytest_cache/",
    ".mypy_cache/",
    ".ruff_cache/",
    ".hypothesis/",
    ".tox/",
    ".nox/",
    ".venv/",
    "node_modules/",
    ".coverage",
    ".DS_Store",
    "*.sw[pon]",
    TEMPORARY_FILES,
)
"""Files that tools and editors write in a project. Its `.gitignore` can include them again (`!.venv/`)."""

_Stamp = tuple[int, int, int]


class IgnoreRules:
    """Applies the patterns of `.gitignore` files that were read before, as git does (gitignore(5))."""

    def __init__(self, lines: Mapping[str, Sequence[str]], excludes: Sequence[Sequence[str]] = ()) -> None:
        """`lines`: of each `.gitignore`, by its folder (`a/b/`; empty for the root).

        `excludes`: the lines of further files of patterns for the whole folder, the strongest last.
        """
        self._specs = {folder: QuickSpec(own) for folder, own in lines.items()}
        """Folders whose `.gitignore` has patterns."""
        self._excludes = [QuickSpec(own) for own in reversed(excludes)]
        self._always: QuickSpec | None = None

    def ignored(self, path: str, *, is_dir: bool = False) -> bool:
        """Return whether the path or a folder above it is ignored. `.git` is always ignored.

        `path`: relative to the root, separated by `/`.
        """
        parts = path.split("/")
        here = ""
        for count, part in enumerate(parts):
            here += part if count == len(parts) - 1 and not is_dir else f"{part}/"
            if part == ".git" or self._is_ignored(here):
                return True
        return False

    def _is_ignored(self, path: str) -> bool:
        """Return whether the path is ignored: the last matching line of the deepest `.gitignore` decides."""
        for folder in self._specs_above(path.rstrip("/")):
            verdict = self._specs[folder].verdict(path[len(folder) :])
            if verdict is not None:
                return verdict
        for spec in self._excludes:
            verdict = spec.verdict(path)
            if verdict is not None:
                return verdict
        if self._always is None:
            self._always = QuickSpec(_ALWAYS)
        return bool(self._always.verdict(path))

    def _specs_above(self, path: str) -> Iterator[str]:
        """Yield the folders around a path whose `.gitignore` has patterns, the deepest first."""
        if len(self._specs) <= path.count("/"):
            yield from sorted((folder for folder in self._specs if path.startswith(folder)), key=len, reverse=True)
            return
        end = len(path)
        while end > 0:
            end = path.rfind("/", 0, end) + 1
            if path[:end] in self._specs:
                yield path[:end]
            end -= 1


class Ignore(IgnoreRules):
    """Applies nested `.gitignore` files below one folder as git does (gitignore(5)).

    A changed `.gitignore` takes effect the next time its folder is checked.
    """

    def __init__(self, root: Path, skipped: frozenset[str] = frozenset(), excludes: Sequence[Path] = ()) -> None:
        """`skipped`: absolute paths of files and folders that count as ignored.

        `excludes`: further files of patterns for the whole folder, the strongest last; a `.gitignore` is stronger.
        """
        super().__init__({}, [pattern_lines(str(file)) for file in excludes])
        self._root, self._skipped = str(root), skipped
        self._stamps: dict[str, _Stamp | None] = {}
        """Each folder that was read, with the stamp of its `.gitignore`."""
        self._known: dict[str, bool] = {}

    def ignored(self, path: str, *, is_dir: bool = False) -> bool:
        """Return whether the path or a folder above it is ignored. `.git` is always ignored.

        `path`: relative to the root, separated by `/`.
        """
        parts = path.split("/")
        here = ""
        for count, part in enumerate(parts):
            self.refresh(here)
            last = count == len(parts) - 1
            if self.ignores_entry(here, part, is_dir or not last):
                return True
            here = f"{here}{part}/"
        return False

    def walk(self, start: str = "") -> Generator[tuple[str, os.DirEntry[str]]]:
        """Yield every file and link below a folder that is not ignored, relative path first, ordered by name.

        Links to folders are yielded, not followed. An unreadable folder is skipped.
        """
        first = f"{start.strip('/')}/" if start.strip("/") not in ("", ".") else ""
        waiting = [(first, self._entries_of(first))]
        while waiting:
            folder, entries = waiting[-1]
            entry = next(entries, None)
            if entry is None:
                waiting.pop()
                continue
            is_folder = entry.is_dir(follow_symlinks=False)
            if self.ignores_entry(folder, entry.name, is_folder):
                continue
            if is_folder:
                below = f"{folder}{entry.name}/"
                waiting.append((below, self._entries_of(below)))
            else:
                yield folder + entry.name, entry

    def _entries_of(self, folder: str) -> Iterator[os.DirEntry[str]]:
        self.refresh(folder)
        return iter(self.entries(folder))

    def entries(self, folder: str) -> list[os.DirEntry[str]]:
        """List a folder (`a/b/`, or empty for the root), sorted by name; empty if it cannot be read."""
        try:
            with os.scandir(f"{self._root}/{folder}") as listing:
                return sorted(listing, key=lambda entry: entry.name)
        except OSError:
            return []

    def ignores_entry(self, folder: str, name: str, is_dir: bool) -> bool:
        """Return whether a name in a folder is ignored. The folder itself is not, and was refreshed before."""
        if name == ".git" or (self._skipped and f"{self._root}/{folder}{name}" in self._skipped):
            return True
        path = f"{folder}{name}/" if is_dir else folder + name
        known = self._known.get(path)
        if known is None:
            known = self._known[path] = self._is_ignored(path)
        return known

    def refresh(self, folder: str) -> bool:
        """Read the `.gitignore` of a folder. Return whether it changed: earlier results below are then invalid."""
        file = f"{self._root}/{folder}.gitignore"
        try:
            status = os.lstat(file)
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        except OSError:
            stamp = None
        is_first, old = folder not in self._stamps, self._stamps.get(folder)
        if not is_first and old == stamp:
            return False
        lines = pattern_lines(file) if stamp else []
        self._stamps[folder] = stamp
        if lines:
            self._specs[folder] = QuickSpec(lines)
        else:
            self._specs.pop(folder, None)
        if is_first and stamp is None:
            return False
        self._known = {path: known for path, known in self._known.items() if not path.startswith(folder)}
        return True


def pattern_lines(file: str) -> list[str]:
    """Return the lines of a file of patterns; none if it cannot be read, such as a FIFO or a file that is too large."""
    try:
        return read_plain(file).decode("utf-8", "surrogateescape").splitlines()
    except OSError:
        return []
