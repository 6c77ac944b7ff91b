"""The state of a path: its type and content, and the stat fields that change with them."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import time
from pathlib import Path

import msgspec

from ...protocol import MarkKind
from ..files.beneath import folder_of

ABSENT: MarkKind = "absent"
FILE: MarkKind = "file"
LINK: MarkKind = "link"
FOLDER: MarkKind = "folder"
OTHER: MarkKind = "other"
DIVERTED: MarkKind = "diverted"
UNREADABLE: MarkKind = "unreadable"
LARGEST_STORED = 16_000_000
"""Maximum bytes of a file whose approved content is stored."""
_RACY_NS = 50_000_000
"""A file that changed this recently before it was read may change again within one tick of the clock."""
_COARSE_NS = 2_100_000_000
"""The same for a file system that stores whole seconds."""
_PIECE = 1 << 20

Stamp = tuple[int, int, int, int, int, int]
"""Device, inode, mode, size, mtime and ctime in ns. A user can set the mtime, but not the ctime (inode(7))."""


class Mark(msgspec.Struct, frozen=True, array_like=True):
    """The type and the content of a path."""

    kind: MarkKind
    digest: str = ""
    """SHA-256 of the bytes, or of a link's target, in hex."""
    mode: int = 0
    """Permission bits of a file."""
    size: int = 0

    @property
    def blob(self) -> str | None:
        """Return the digest of the content for events. None: not a file or a link, or it is too large to store."""
        return self.digest if self.kind in (FILE, LINK) and self.size <= LARGEST_STORED else None

    @property
    def description(self) -> str:
        """Return a description for people, such as `a file of 120 bytes`."""
        match self.kind:
            case "file":
                return f"a file of {self.size:,} bytes"
            case "absent":
                return "nothing"
            case "diverted":
                return "a path through a link"
            case _:
                return f"a {self.kind}"


class StampedMark(msgspec.Struct):
    """A mark and the stat fields at the time when it was read."""

    mark: Mark
    stamp: Stamp | None
    """None if the path does not exist."""
    racy: bool = False
    """Whether the next change may leave the stat fields as they are."""


def stamp_of(status: os.stat_result) -> Stamp:
    """Return the stat fields that are compared."""
    return (
        status.st_dev,
        status.st_ino,
        status.st_mode,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


def is_racy(stamp: Stamp, read_ns: int) -> bool:
    """Return whether the path can change again without a new ctime."""
    ctime = stamp[5]
    return ctime > read_ns - (_RACY_NS if ctime % 1_000_000_000 else _COARSE_NS)


def read_mark(root: Path, path: str, keep: list[bytes] | None = None, most: int = 0) -> StampedMark:
    """Return the state of a path below `root`. Links are not followed. Never raises OSError.

    `keep` receives the bytes of a file, or the target of a link, if they have at most `most` bytes.
    """
    now = time.time_ns()
    try:
        with folder_of(root, root / path) as folder:
            return _read(folder, os.path.basename(path), keep, most, now)  # noqa: PTH119 - a hot path
    except FileNotFoundError:
        return StampedMark(Mark(ABSENT), None)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            return StampedMark(Mark(DIVERTED), None)
        return StampedMark(Mark(UNREADABLE, error.strerror or str(error)), None)


def _read(folder: int, name: str, keep: list[bytes] | None, most: int, now: int) -> StampedMark:
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    stamp = stamp_of(status)
    racy = is_racy(stamp, now)
    if stat.S_ISLNK(status.st_mode):
        target = os.fsencode(os.readlink(name, dir_fd=folder))
        if keep is not None:
            keep.append(target)
        return StampedMark(Mark(LINK, hashlib.sha256(target).hexdigest(), 0, len(target)), stamp, racy)
    if stat.S_ISDIR(status.st_mode):
        return StampedMark(Mark(FOLDER), stamp, racy)
    if not stat.S_ISREG(status.st_mode):
        return StampedMark(Mark(OTHER, str(stat.S_IFMT(status.st_mode))), stamp, racy)
    fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    try:
        opened = os.fstat(fd)
        if not stat.S_ISREG(opened.st_mode):
            return StampedMark(Mark(OTHER), stamp_of(opened), True)
        digest, size = _digest(fd, keep if opened.st_size <= most else None)
        after = os.fstat(fd)
    finally:
        os.close(fd)
    moved = stamp_of(after) != stamp
    return StampedMark(Mark(FILE, digest, stat.S_IMODE(after.st_mode), size), stamp_of(after), racy or moved)


def _digest(fd: int, keep: list[bytes] | None) -> tuple[str, int]:
    found, size = hashlib.sha256(), 0
    pieces: list[bytes] = []
    while piece := os.read(fd, _PIECE):
        found.update(piece)
        size += len(piece)
        if keep is not None:
            pieces.append(piece)
    if keep is not None:
        keep.append(b"".join(pieces))
    return found.hexdigest(), size
