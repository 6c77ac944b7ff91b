"""The files that were written in a layer, read or moved for an apply; the layer may be hostile."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import stat
from pathlib import Path
from typing import Self

from ..host.file_errors import StaleFile
from ..host.files.locked_file import Lease
from ..host.files.no_follow import rename_new, write_all
from ..host.files.write_file import NEW_FILE
from .layer_effects import Side, bytes_at, target_at
from .open_below import FOLDER, open_below

_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_PIECE = 1 << 20
_OVERLAY = "user.overlay."
"""Attributes of the overlay itself (overlayfs.rst): a command in it cannot set one."""
_RUNS = stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH


class Written:
    """What was written in a layer. Used as a context manager."""

    def __init__(self, upper: Path, staging: Path) -> None:
        """`upper`: the folder with what was written. `staging`: one for copies, on its file system. Raises OSError."""
        self._staging = staging
        self._upper = os.open(upper, FOLDER | os.O_CLOEXEC)
        wanted = 0o666 & ~_umask()
        self._modes = wanted, wanted | ((wanted >> 2) & _RUNS)
        """The permissions of a file that is moved, by its execute bit."""
        self._owner = os.geteuid()
        self._parent: str = ""
        self._folder = os.dup(self._upper)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._folder)
        os.close(self._upper)

    def load(self, path: str, side: Side) -> bytes:
        """Return the bytes of a file, or the target of a link. Raises OSError."""
        name = os.fsencode(path)
        return target_at(self._upper, name) if side.type == "link" else bytes_at(self._upper, name)

    def make(self, path: str, side: Side, folder: int, name: str) -> None:
        """Make a file of an open folder of this one: moved if nothing else can write to it, else copied.

        Raises FileExistsError if the name exists, OSError, and StaleFile if the file is not as it was listed.
        """
        parent, _, own = path.rpartition("/")
        if parent != self._parent:
            opened = open_below(self._upper, os.fsencode(parent), FOLDER)
            os.close(self._folder)
            self._folder, self._parent = opened, parent
        source = os.open(own, _FILE, dir_fd=self._folder)
        try:
            status = os.fstat(source)
            lease = Lease(source)
            if not (lease.held and self._may_move(source, status, side) and self._moved(own, folder, name)):
                self._copied(source, path, side, folder, name)
            elif lease.is_contested:
                os.unlink(name, dir_fd=folder)
                raise StaleFile(f"{path}: a process still writes to it")
        finally:
            os.close(source)

    def _may_move(self, source: int, status: os.stat_result, side: Side) -> bool:
        """Return whether the file has one name, is as it was listed, and needs no other owner or attributes."""
        known = status.st_ino == side.inode and status.st_size == side.size and status.st_ctime_ns == side.ctime_ns
        if not (known and stat.S_ISREG(status.st_mode) and status.st_nlink == 1 and status.st_uid == self._owner):
            return False
        for attribute in os.listxattr(source):
            if not attribute.startswith(_OVERLAY):
                return False
            os.removexattr(source, attribute)
        wanted = self._modes[side.executable]
        if stat.S_IMODE(status.st_mode) != wanted:
            os.fchmod(source, wanted)
        return True

    def _moved(self, own: str, folder: int, name: str) -> bool:
        """Move the file, whose name leads to it as long as the layer is sealed. Return False on another file system."""
        try:
            rename_new(self._folder, own, name, folder)
        except OSError as error:
            if error.errno == errno.EXDEV:
                return False
            raise
        return True

    def _copied(self, source: int, path: str, side: Side, folder: int, name: str) -> None:
        """Copy an open file, which must be as it was listed. The copy gets its name when it is complete."""
        copy = self._staging / secrets.token_hex(8)
        made = os.open(copy, NEW_FILE, 0o777 if side.executable else 0o666)
        try:
            found = hashlib.sha256()
            while piece := os.read(source, _PIECE):
                found.update(piece)
                write_all(made, piece)
            status = os.fstat(source)
            os.utime(made, ns=(status.st_atime_ns, side.mtime_ns))
            same = (status.st_ino, status.st_size, status.st_mtime_ns) == (side.inode, side.size, side.mtime_ns)
            if found.hexdigest() != side.digest if side.digest else not same or Lease(source).is_contested:
                raise StaleFile(f"{path}: its new content has changed since it was listed")
            rename_beside(copy, folder, name)
        finally:
            os.close(made)
            copy.unlink(missing_ok=True)


def rename_beside(file: Path, folder: int, name: str) -> None:
    """Move a file to a new name in an open folder. Raises OSError, with FileExistsError if the name exists."""
    own = os.open(file.parent, FOLDER | os.O_CLOEXEC)
    try:
        rename_new(own, file.name, name, folder)
    finally:
        os.close(own)


def _umask() -> int:
    """Return the umask without changing it (proc(5))."""
    for line in Path("/proc/self/status").read_text("ascii", "replace").splitlines():
        if line.startswith("Umask:"):
            return int(line.split()[1], 8)
    return 0o077
