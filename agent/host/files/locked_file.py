"""Check that a file has the expected content, and lock it against writers while it is replaced."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import signal
import stat
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..file_errors import StaleFile
from .no_follow import read_all

if TYPE_CHECKING:
    from .file_states import FileState

READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_PIECE = 1 << 20


class LockedFile:
    """The old file, which has the expected content and is locked against writers as far as the system allows."""

    def __init__(self, fd: int, folder: int, before: FileState) -> None:
        self._fd, self._folder, self._before = fd, folder, before
        self._lease = Lease(fd)
        self.status = os.fstat(fd)
        if not stat.S_ISREG(self.status.st_mode):
            raise StaleFile(f"{before.path}: it is no longer a plain file")
        if self._lease.is_contested or not self._is_expected():
            raise StaleFile(f"{before.path}: it was changed by someone else meanwhile")

    def was_moved_to(self, aside: str) -> bool:
        """Return whether the file now has the name `aside`, and no other program wrote to it or waits to do so."""
        found = os.stat(aside, dir_fd=self._folder, follow_symlinks=False)
        if found.st_ino != self.status.st_ino or self._lease.is_contested:
            return False
        return self._lease.held or self._is_expected()

    def _is_expected(self) -> bool:
        if os.fstat(self._fd).st_size != self._before.size:
            return False
        return digest_of(self._fd) == self._before.sha256


@contextmanager
def locked(folder: int, name: str, before: FileState) -> Generator[LockedFile]:
    """Lock the file. Raises StaleFile if it differs from `before`, or another program is writing to it."""
    fd = os.open(name, READ, dir_fd=folder)
    try:
        yield LockedFile(fd, folder, before)
    finally:
        os.close(fd)


def compare(folder: int, name: str, before: FileState) -> os.stat_result:
    """Return the status of the file. Raises StaleFile if it differs from `before`."""
    with locked(folder, name, before) as kept:
        return kept.status


def digest_of(fd: int) -> str:
    """Return the SHA-256 of an open file of any size, in hex. Moves its position."""
    found = hashlib.sha256()
    os.lseek(fd, 0, os.SEEK_SET)
    while piece := os.read(fd, _PIECE):
        found.update(piece)
    return found.hexdigest()


def from_start(fd: int, size: int) -> bytes:
    """Read the first `size` bytes of a descriptor."""
    os.lseek(fd, 0, os.SEEK_SET)
    return read_all(fd, size)


class Lease:
    """Makes other programs that open the file wait until the descriptor is closed (fcntl(2), "Leases").

    They wait if they open it for writing; with `exclusive`, also for reading. `held` is False if the system, the file
    system or the owner of the file does not allow a lease.
    """

    __slots__ = ("_fd", "_kind", "_refused", "held")

    def __init__(self, fd: int, *, exclusive: bool = False) -> None:
        self._fd = fd
        self.held = self._refused = False
        self._kind = fcntl.F_WRLCK if exclusive else fcntl.F_RDLCK
        if sys.platform == "linux":
            try:
                # The kernel notifies the holder with SIGIO, which would end the process; SIGURG is ignored by default.
                fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
                fcntl.fcntl(fd, fcntl.F_SETLEASE, self._kind)
                self.held = True
            except OSError as error:
                self._refused = error.errno == errno.EAGAIN

    @property
    def is_contested(self) -> bool:
        """Return whether another program had the file open when the lease began, or waits to open it."""
        return self._refused or (self.held and fcntl.fcntl(self._fd, fcntl.F_GETLEASE) != self._kind)

    @property
    def has_writer(self) -> bool:
        """Return whether another program waits to open the file for writing."""
        return self.held and fcntl.fcntl(self._fd, fcntl.F_GETLEASE) == fcntl.F_UNLCK
