"""Report changes of files and folders on Linux, without a thread and without polling (inotify(7))."""

from __future__ import annotations

import errno
import os
import struct
import sys
from collections.abc import Callable
from pathlib import Path

WRITTEN = 0x2
"""IN_MODIFY: a file was written to or truncated."""
_ANY = 0x2 | 0x4 | 0x8 | 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800
"""Written, attributes changed, closed after writing, moved, created, removed; also for the watched path itself."""
_OVERFLOW = 0x4000
_CLOSE_ON_EXEC, _NON_BLOCKING = 0o2000000, 0o4000
_EVENT = struct.Struct("iIII")
_BUFFER = 64 * 1024


class Inotify:
    """Calls a function in the running event loop when a watched path changes.

    It reports only changes made by this machine: on a network file system, it misses those of other machines.
    """

    def __init__(self, on_change: Callable[[set[Path]], None]) -> None:
        """`on_change` gets the changed paths. Raises OSError without inotify, or when the system's limit is reached."""
        self._on_change = on_change
        self._watched: dict[int, Path] = {}
        self._libc = _libc()
        self._descriptor = _checked(self._libc.inotify_init1(_CLOSE_ON_EXEC | _NON_BLOCKING))
        from asyncio import get_running_loop  # the import takes 30 ms, and callers already have it

        self._loop = get_running_loop()
        self._loop.add_reader(self._descriptor, self._read)

    def watch(self, path: Path, *, written_only: bool = False) -> None:
        """Report changes of a file, or of a folder and the files directly in it. Raises OSError."""
        mask = WRITTEN if written_only else _ANY
        number = _checked(self._libc.inotify_add_watch(self._descriptor, os.fsencode(path), mask), path)
        self._watched[number] = path

    def close(self) -> None:
        """Stop reporting and release the descriptor. Closing twice does nothing."""
        if self._descriptor >= 0:
            if not self._loop.is_closed():
                self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, _BUFFER)
        except BlockingIOError:
            return
        changed: set[Path] = set()
        start = 0
        while start < len(data):
            number, mask, _, length = _EVENT.unpack_from(data, start)
            start += _EVENT.size
            name = data[start : start + length].rstrip(b"\0")
            start += length
            if mask & _OVERFLOW:
                changed.update(self._watched.values())
            elif number in self._watched:
                path = self._watched[number]
                changed.add(path / os.fsdecode(name) if name else path)
        self._on_change(changed)


def _libc():  # noqa: ANN202 - ctypes has no public type for a library
    if sys.platform != "linux":
        raise OSError(errno.ENOSYS, "this system has no inotify")
    import ctypes  # ~2 ms

    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int, path: Path | None = None) -> int:
    if result < 0:
        import ctypes

        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), path)
    return result
