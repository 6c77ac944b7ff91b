"""Which files are none of a run's business: what `.gitignore` files say, and what tools leave behind everywhere."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .write import TEMPORARY

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
        self._specs: dict[str, tuple[_Mark | None, GitIgnoreSpec | None]] = {}
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
        folder = f"{start.strip('/')}/" if start.strip("/") not in ("", ".") else ""
        self.notice(folder)
        for entry in self.entries(folder):
            inside = entry.is_dir(follow_symlinks=False)
            if self.names(folder, entry.name, inside):
                continue
            if inside:
                yield from self.walk(folder + entry.name)
            else:
                yield folder + entry.name, entry

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
        old = self._specs.get(folder)
        if old is not None and old[0] == mark:
            return False
        self._specs[folder] = (mark, self._read(file) if mark else None)
        if old is None and mark is None:
            return False
        self._known = {path: known for path, known in self._known.items() if not path.startswith(folder)}
        return True

    def _judge(self, path: str) -> bool:
        """The last matching line of the deepest file wins."""
        parts = path.rstrip("/").split("/")[:-1]
        for depth in range(len(parts), -1, -1):
            folder = "".join(f"{part}/" for part in parts[:depth])
            spec = self._specs.get(folder, (None, None))[1]
            if spec is not None:
                verdict = spec.check_file(path[len(folder) :]).include
                if verdict is not None:
                    return verdict
        if self._always is None:
            self._always = _compiled(_ALWAYS)
        return bool(self._always.check_file(path).include)

    def _read(self, file: str) -> GitIgnoreSpec | None:
        try:
            text = Path(file).read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            return None
        return _compiled(text.splitlines())


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
