"""Copies of files, which are made again only for changed files."""

from __future__ import annotations

import filecmp
import os
import shutil
import stat
from pathlib import Path

import msgspec

from ....system.plain_files import read_plain

_SMALL = 1_000_000
"""Maximum size, in bytes, of a file whose copy is kept in memory."""
_MOST_IN_MEMORY = 32_000_000
_MOST_ON_DISK = 200_000_000


class Kept(msgspec.Struct, frozen=True):
    """A file, link or folder as it was before a command."""

    mode: int
    data: bytes | None
    """The content of a small file, or the target of a link."""
    copy: Path | None
    """The path of the copy of a large file."""
    stamp: tuple[int, ...]

    @property
    def is_lost(self) -> bool:
        """Return whether the content could not be copied."""
        return self.data is None and self.copy is None

    def is_the_same(self, other: Kept) -> bool:
        """Return whether the kind, the permissions and the content are known to be equal."""
        if self.mode != other.mode or self.is_lost or other.is_lost:
            return False
        if self.copy is not None and other.copy is not None:
            return filecmp.cmp(self.copy, other.copy, shallow=False)
        return self.data is not None and self.data == other.data


class Copies:
    """The copies of files for all commands of a run."""

    def __init__(self, folder: Path | None = None) -> None:
        """`folder`: for copies of large files, hidden from commands; without it, large files are not copied."""
        self._folder = folder
        self.reported = set[Path]()
        """Places that are too large to copy and were reported."""
        self._known: dict[Path, Kept] = {}
        self._in_memory = self._on_disk = self._made = 0

    def read(self, path: Path) -> Kept:
        """Return the entry as it is now. Its content is read again only if the entry changed. Raises OSError."""
        status = path.lstat()
        known = self._known.get(path)
        stamp = _stamp(status)
        if known is not None and known.stamp == stamp:
            return known
        self._forget(path)
        data, copy = self._content(path, status)
        found = Kept(status.st_mode, data, copy, stamp)
        if stat.S_ISREG(status.st_mode):
            self._known[path] = found
            self._in_memory += len(data or b"")
            self._on_disk += status.st_size if copy is not None else 0
        return found

    def _content(self, path: Path, status: os.stat_result) -> tuple[bytes | None, Path | None]:
        if stat.S_ISLNK(status.st_mode):
            return os.fsencode(path.readlink()), None
        if not stat.S_ISREG(status.st_mode):
            return b"", None
        if status.st_size <= min(_SMALL, _MOST_IN_MEMORY - self._in_memory):
            return read_plain(path, _SMALL), None
        if self._folder is None or status.st_size > _MOST_ON_DISK - self._on_disk:
            return None, None
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._made += 1
        copy = self._folder / str(self._made)
        shutil.copyfile(path, copy, follow_symlinks=False)
        return None, copy

    def _forget(self, path: Path) -> None:
        known = self._known.pop(path, None)
        if known is not None:
            self._in_memory -= len(known.data or b"")  # a copy on disk stays, to be compared


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    """Return the stat fields that change with the entry; for a folder, only its type and permissions."""
    times = (status.st_mtime_ns, status.st_ctime_ns, status.st_size) if not stat.S_ISDIR(status.st_mode) else ()
    return (status.st_mode, status.st_dev, status.st_ino, *times)
