"""Find the test files that a check runs, as far as its command line and its counts show."""

from __future__ import annotations

import os
import re
import shlex
import stat
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from random import Random
from typing import TYPE_CHECKING

import msgspec

from ...host.plain_files import read_plain, walk_folders
from ..checks.executed_files import Started, executed
from .plant_table import Runner, plant_table

if TYPE_CHECKING:
    from ..counting.counted import Counted

_MOST_FILES = 20_000
"""Most files that are looked at by name."""
_MOST_READ = 60
"""Most test files that are read."""
_LARGEST = 200_000


class SuiteFile(msgspec.Struct, frozen=True):
    """An existing file with tests."""

    path: str
    """Relative to the root."""
    text: str


class FoundTests(msgspec.Struct, frozen=True):
    """The runner of a check and its test files, those that its counts name first, else in random order."""

    runner: Runner
    files: list[SuiteFile]
    selected: list[str]
    """Names of tests to which the command line restricts the runner (`test_a.py::test_b`)."""
    is_once: bool
    """Whether the check starts this runner only once."""
    line: str
    """The command line of the runner itself, also where a script or Makefile starts it."""
    alone: str
    """A command that starts only the runner, in its folder."""


def found_tests(check: str, root: Path, counted: Counted | None, random: Random) -> FoundTests | None:
    """Return the test files of the last runner that the check starts, or None if it starts none of the table.

    With several runners, the last one is chosen, because a failing test keeps later ones from being started.
    """
    started = [found for one in executed(check, root).started if (found := _found(one)) is not None]
    if not started:
        return None
    runner, folder, line, words, alone = started[-1]
    selected = [re.sub(r"\[.*", "", word).rpartition("::")[2] for word in words if "::" in word]
    paths = sorted(_paths(runner, PurePosixPath(folder), words, root))
    random.shuffle(paths)
    names = "\n".join([*counted.names, *counted.failed]) if counted is not None else ""
    paths.sort(key=lambda path: not _is_in(path, names))
    marks = re.compile(plant_table().language_of(runner).marks, re.MULTILINE)
    texts = ((path, plain_text(root, path)) for path in paths[:_MOST_READ])
    files = [SuiteFile(path, text) for path, text in texts if text is not None and marks.search(text)]
    is_once = sum(1 for one, *_ in started if one is runner) == 1
    return FoundTests(runner, files, selected, is_once, line, alone) if files else None


def _found(started: Started) -> tuple[Runner, str, str, list[str], str] | None:
    """Return the runner that a program is, its folder, command line, arguments without options, and command."""
    line = " ".join([started.words[0].rpartition("/")[2], *started.words[1:]])
    for runner in plant_table().runner:
        if match := re.search(runner.command, line):
            words = [word for word in line[match.end() :].split() if not word.startswith("-")]
            alone = shlex.join(started.words)
            into = "" if started.folder == "." else f"cd {shlex.quote(started.folder)} && "
            return runner, started.folder, line, words, f"{into}{alone}"
    return None


def _paths(runner: Runner, folder: PurePosixPath, words: Sequence[str], root: Path) -> Iterator[str]:
    """Yield the paths that can be test files: what the command line names, and what is in its folders."""
    targets = [_target(word, folder) for word in words]
    named = [target for target in targets if "*" in target or os.path.lexists(root / target)]
    if runner.language == "python":
        dotted = [f"{_target(word.replace('.', '/'), folder)}.py" for word in words]
        named += [path for path in dotted if (root / path).is_file()]
    places = [target for target in named if (root / target).is_dir()]
    if not named:
        places = [_target(".", folder)]
    for path in _walked(root):
        is_meant = any(path == target or fnmatchcase(path, target) for target in named)
        is_below = any(place == "." or path.startswith(f"{place}/") for place in places)
        if is_meant or (is_below and re.search(runner.files, path)):
            yield path


def _target(word: str, folder: PurePosixPath) -> str:
    """Return the path that an argument names: `a` for `./a/...`, `test_a.py` for `test_a.py::test_b`."""
    bare = word.partition("::")[0].removesuffix("...") or "."
    return os.path.normpath(folder / bare).replace(os.sep, "/")


def _walked(root: Path) -> Iterator[str]:
    skipped, count = frozenset(plant_table().skipped), 0
    for folder, folders, files in walk_folders(root):
        here = os.path.relpath(folder, root).replace(os.sep, "/")
        if "pyvenv.cfg" in files:
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if name not in skipped and not name.startswith("."))
        for name in sorted(files):
            yield name if here == "." else f"{here}/{name}"
        count += len(files)
        if count > _MOST_FILES:
            return


def _is_in(path: str, names: str) -> bool:
    """Return whether a test's name has the file's name in it: as a path, or as a module (`tests.test_a.A.test_b`)."""
    return PurePosixPath(path).name in names or f"{PurePosixPath(path).stem}." in names


def _is_plain_file(root: Path, path: str) -> bool:
    """Return whether there is a regular file at this path, not behind a link."""
    return has_plain_folder(root, path) and _has_type(root / path, stat.S_ISREG)


def has_plain_folder(root: Path, path: str) -> bool:
    """Return whether the folder of this path exists and is not behind a link. `root` may be a link itself."""
    return all(_has_type(root / parent, stat.S_ISDIR) for parent in PurePosixPath(path).parents if str(parent) != ".")


def _has_type(place: Path, is_type: Callable[[int], bool]) -> bool:
    try:
        return is_type(place.lstat().st_mode)
    except OSError:
        return False


def plain_text(root: Path, path: str) -> str | None:
    """Return the text of a regular file that is not behind a link; None for any other."""
    if not _is_plain_file(root, path):
        return None
    try:
        return read_plain(root / path, _LARGEST).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
