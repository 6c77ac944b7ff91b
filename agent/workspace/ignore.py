"""Which files are none of a run's business: what `.gitignore` files say, and what tools leave behind everywhere."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..system import read_plain
from .files.write import TEMPORARY

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

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
    f"{TEMPORARY}*.tmp",
)
"""What a check or an editor writes beside its work. A project's `.gitignore` may take it back (`!node_modules/`)."""

_Mark = tuple[int, int, int]


class Ignore:
    """Answers for paths below one folder, with nested `.gitignore` files as git reads them (gitignore(5)).

    A changed `.gitignore` is noticed when its folder is asked about again.
    """

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._marks: dict[str, _Mark | None] = {}
        """Each folder that was looked at, and the mark of its `.gitignore`."""
        self._ruling: dict[str, GitIgnoreSpec] = {}
        """The folders whose `.gitignore` says something."""
        self._known: dict[str, bool] = {}
        self._always: GitIgnoreSpec | None = None

    def ignored(self, path: str, *, is_dir: bool = False) -> bool:
        """The path (relative to the root, with `/`) or a folder on its way is ignored. `.git` always is."""
        parts = path.split("/")
        here = ""
        for count, part in enumerate(parts):
            self.notice(here)
            last = count == len(parts) - 1
            if self.names(here, part, is_dir or not last):
                return True
            here = f"{here}{part}/"
        return False

    def walk(self, start: str = "") -> Generator[tuple[str, os.DirEntry[str]]]:
        """Every file and link that is not ignored below a folder, relative path first, in the order of names.

        Links to folders are given, not followed. A folder that may not be read is left out.
        """
        first = f"{start.strip('/')}/" if start.strip("/") not in ("", ".") else ""
        waiting = [(first, self._noticed(first))]
        while waiting:
            folder, entries = waiting[-1]
            entry = next(entries, None)
            if entry is None:
                waiting.pop()
                continue
            is_folder = entry.is_dir(follow_symlinks=False)
            if self.names(folder, entry.name, is_folder):
                continue
            if is_folder:
                below = f"{folder}{entry.name}/"
                waiting.append((below, self._noticed(below)))
            else:
                yield folder + entry.name, entry

    def _noticed(self, folder: str) -> Iterator[os.DirEntry[str]]:
        self.notice(folder)
        return iter(self.entries(folder))

    def entries(self, folder: str) -> list[os.DirEntry[str]]:
        """What stands in a folder (`a/b/`, or empty for the root), sorted by name; nothing where it cannot be read."""
        try:
            with os.scandir(f"{self._root}/{folder}") as listing:
                return sorted(listing, key=lambda entry: entry.name)
        except OSError:
            return []

    def names(self, folder: str, name: str, is_dir: bool) -> bool:
        """What the files noticed so far say of one name in a folder that is itself not ignored."""
        if name == ".git":
            return True
        path = f"{folder}{name}/" if is_dir else folder + name
        known = self._known.get(path)
        if known is None:
            known = self._known[path] = self._judge(path)
        return known

    def notice(self, folder: str) -> bool:
        """Looks at a folder's own `.gitignore`. True: it changed, and what was said of paths below may be wrong."""
        file = f"{self._root}/{folder}.gitignore"
        try:
            status = os.lstat(file)
            mark = (status.st_mtime_ns, status.st_size, status.st_ino)
        except OSError:
            mark = None
        is_first, old = folder not in self._marks, self._marks.get(folder)
        if not is_first and old == mark:
            return False
        spec = self._read(file) if mark else None
        self._marks[folder] = mark
        if spec is None:
            self._ruling.pop(folder, None)
        else:
            self._ruling[folder] = spec
        if is_first and mark is None:
            return False
        self._known = {path: known for path, known in self._known.items() if not path.startswith(folder)}
        return True

    def _judge(self, path: str) -> bool:
        """The last matching line of the deepest file wins."""
        for folder in self._above(path.rstrip("/")):
            verdict = self._ruling[folder].check_file(path[len(folder) :]).include
            if verdict is not None:
                return verdict
        if self._always is None:
            self._always = _compiled(_ALWAYS)
        return bool(self._always.check_file(path).include)

    def _above(self, path: str) -> Iterator[str]:
        """The folders around a path whose `.gitignore` says something, the deepest first."""
        if len(self._ruling) <= path.count("/"):
            yield from sorted((folder for folder in self._ruling if path.startswith(folder)), key=len, reverse=True)
            return
        end = len(path)
        while end > 0:
            end = path.rfind("/", 0, end) + 1
            if path[:end] in self._ruling:
                yield path[:end]
            end -= 1

    def _read(self, file: str) -> GitIgnoreSpec | None:
        try:
            data = read_plain(file)
        except OSError:  # also a FIFO, a device, or a file that is far too large
            return None
        return _compiled(data.decode("utf-8", "surrogateescape").splitlines())


def _compiled(lines: Sequence[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec  # ~20 ms

    good: list[str] = []
    for line in lines:
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:  # git skips a line that is no pattern
            continue
        good.append(line)
    return GitIgnoreSpec.from_lines(good)
