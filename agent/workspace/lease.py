"""Whether anyone else is writing to a file right now (fcntl(2), "Leases"; only Linux can tell)."""

from __future__ import annotations

import errno
import fcntl
import signal
import sys


class Lease:
    """A watch on an open, read-only descriptor: `busy` says that someone writes, or waits to open it for writing.

    Where the system, the file system or the file's owner does not allow a lease, it is never busy.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._held = self._refused = False
        if sys.platform == "linux":
            self._take()

    @property
    def busy(self) -> bool:
        """Someone had the file open for writing when the lease was asked for, or wanted to open it since."""
        if sys.platform != "linux" or not self._held:
            return self._refused
        return fcntl.fcntl(self._fd, fcntl.F_GETLEASE) != fcntl.F_RDLCK

    def _take(self) -> None:
        if sys.platform != "linux":
            return
        try:
            # The kernel tells the holder by SIGIO, which would end the process; SIGURG is ignored by default.
            fcntl.fcntl(self._fd, fcntl.F_SETSIG, signal.SIGURG)
            fcntl.fcntl(self._fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
            self._held = True
        except OSError as error:
            self._refused = error.errno == errno.EAGAIN
