"""Record the content of a dependency folder by path, mode, size and hash, and compare it later."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

MOST_FILES = 200_000
MOST_BYTES = 6_000_000_000
_RACY_NS = 2_100_000_000
"""Nanoseconds: a file that changed this recently before it was read may change again with the same change time."""
_BYTE_CODE = "__pycache__"
_PIECE = 1 << 20


class TooManyFiles(Exception):
    """The folder has more files than a manifest can hold; the message says how many."""


class FileRecord(msgspec.Struct, frozen=True, array_like=True):
    """One file or link in a manifest."""

    mode: int
    size: int
    digest: str
    """SHA-256 of the bytes, or of a link's target."""
    ctime: int = 0
    """Change time in ns. 0 means too recent to be reliable. Every change updates it, and no user can set it
    (inode(7))."""
    ino: int = 0

    def is_same(self, other: FileRecord) -> bool:
        """Compare mode and content, not times."""
        return (self.mode, self.size, self.digest) == (other.mode, other.size, other.digest)


class Manifest(msgspec.Struct, frozen=True):
    """The content of a folder at one moment."""

    files: dict[str, FileRecord]
    """Files by their path below the folder, with byte code, but without the caches."""

    @property
    def bytes(self) -> int:
        """Total size of all files in bytes."""
        return sum(held.size for held in self.files.values())


class Compared(msgspec.Struct, frozen=True):
    """Files that differ from a manifest, by kind of difference."""

    files: list[str]
    """Paths below the folder, sorted."""
    byte_code: list[str]
    """Folders with new or changed byte code, sorted. They are listed separately, because Python writes it."""


def record(folder: Path, caches: Sequence[str] = (), wanted: Callable[[], bool] = lambda: True) -> Manifest:
    """Read the whole folder, or stop when `wanted` returns False. Raises TooManyFiles, OSError."""
    now, room = time.time_ns(), MOST_BYTES
    found: dict[str, FileRecord] = {}
    for path, status in _walk(folder, caches):
        held = _file_record(f"{folder}/{path}", status, now)
        room -= held.size
        if not wanted():
            break
        if len(found) >= MOST_FILES or room < 0:
            raise TooManyFiles(f"it has more than {MOST_FILES:,} files or {MOST_BYTES // 1_000_000_000} GB")
        found[path] = held
    return Manifest(found)


def compare(known: Manifest, folder: Path, caches: Sequence[str] = ()) -> Compared:
    """Compare a folder with a manifest. Reads only files whose stat fields changed. Raises OSError."""
    differing: list[str] = []
    missing = dict(known.files)
    for path, status in _walk(folder, caches):
        held = missing.pop(path, None)
        if held is not None and held.ctime and (held.ctime, held.ino) == (status.st_ctime_ns, status.st_ino):
            continue
        if held is None or not held.is_same(_file_record(f"{folder}/{path}", status, 0)):
            differing.append(path)
    differing += [path for path in missing if not _is_byte_code(path)]
    code = {path.rpartition("/")[0] for path in differing if _is_byte_code(path)}
    return Compared(sorted(path for path in differing if not _is_byte_code(path)), sorted(code))


def _is_byte_code(path: str) -> bool:
    return path.endswith(".pyc") and path.rpartition("/")[0].rpartition("/")[2] == _BYTE_CODE


def _walk(folder: Path, caches: Sequence[str]) -> Iterator[tuple[str, os.stat_result]]:
    """Yield every file and link below the folder, relative path first. An unreadable entry is an error."""
    waiting = [""]
    while waiting:
        below = waiting.pop()
        with os.scandir(f"{folder}/{below}") as listing:
            for entry in listing:
                path = below + entry.name
                if not below and entry.name in caches:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(f"{path}/")
                else:
                    yield path, entry.stat(follow_symlinks=False)


def _file_record(path: str, status: os.stat_result, now: int) -> FileRecord:
    """Read one entry. `now`: the time when reading began, in ns. With 0, the change time is not stored."""
    mode = status.st_mode
    if stat.S_ISLNK(mode):
        digest = hashlib.sha256(os.fsencode(os.readlink(path))).hexdigest()  # noqa: PTH115 - 100,000 of them
    elif stat.S_ISREG(mode):
        digest = _digest(path)
    else:
        digest = "other"
    is_settled = status.st_ctime_ns < now - _RACY_NS
    ctime, ino = (status.st_ctime_ns, status.st_ino) if is_settled else (0, 0)
    return FileRecord(mode, status.st_size, digest, ctime, ino)


def _digest(path: str) -> str:
    found = hashlib.sha256()
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - as above
        while piece := file.read(_PIECE):
            found.update(piece)
    return found.hexdigest()
