"""Report changes of files and folders on Linux without polling (inotify(7)): in an event loop, or to any reader."""

from __future__ import annotations

import errno
import os
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

WRITTEN = 0x2
"""IN_MODIFY: a file was written to or truncated."""
OPENED, MOVED_IN, CREATED = 0x20, 0x80, 0x100
OVERFLOW, IS_FOLDER, NO_LONGER_WATCHED = 0x4000, 0x40000000, 0x8000
"""Flags of an event: further events were dropped; it is about a folder; it is the last event of its watch."""
_ANY = 0x2 | 0x4 | 0x8 | 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800
"""Written, attributes changed, closed after writing, moved, created, removed; also for the watched path itself."""
_CLOSE_ON_EXEC, _NON_BLOCKING = 0o2000000, 0o4000
_EVENT = struct.Struct("iIII")
_BUFFER = 64 * 1024


class Event(NamedTuple):
    """What the kernel reports of one file or folder."""

    watch: int
    """The number that `add_watch` returned."""
    mask: int
    name: bytes
    """Of the file in the watched folder. Empty means that it is about the watched path itself."""


def open_inotify(*, blocks: bool) -> int:
    """Return a descriptor for watches. `blocks`: `read_events` waits. Raises OSError if the system has no more."""
    return _checked(_libc().inotify_init1(_CLOSE_ON_EXEC | (0 if blocks else _NON_BLOCKING)))


def add_watch(descriptor: int, path: Path | str, mask: int) -> int:
    """Report these kinds of events of a path, and of the files directly in it. Returns the number of the watch.

    Raises OSError if the system has no more watches.
    """
    return _checked(_libc().inotify_add_watch(descriptor, os.fsencode(path), mask), path)


def remove_watch(descriptor: int, watch: int) -> None:
    """End a watch. Its last event is `NO_LONGER_WATCHED`. Raises OSError."""
    _checked(_libc().inotify_rm_watch(descriptor, watch))


def read_events(descriptor: int) -> Iterator[Event]:
    """Yield the next events. Raises BlockingIOError if there is none and the descriptor does not block."""
    data = os.read(descriptor, _BUFFER)
    start = 0
    while start < len(data):
        watch, mask, _, length = _EVENT.unpack_from(data, start)
        start += _EVENT.size + length
        yield Event(watch, mask, data[start - length : start].rstrip(b"\0"))


class Inotify:
    """Calls a function in the running event loop when a watched path changes.

    It reports only changes made by this machine: on a network file system, it misses those of other machines.
    """

    def __init__(self, on_change: Callable[[set[Path]], None]) -> None:
        """`on_change` gets the changed paths. Raises OSError without inotify, or when the system's limit is reached."""
        self._on_change = on_change
        self._watched: dict[int, Path] = {}
        self._descriptor = open_inotify(blocks=False)
        from asyncio import get_running_loop  # the import takes 30 ms, and callers already have it

        self._loop = get_running_loop()
        self._loop.add_reader(self._descriptor, self._read)

    def watch(self, path: Path, *, written_only: bool = False) -> None:
        """Report changes of a file, or of a folder and the files directly in it. Raises OSError."""
        number = add_watch(self._descriptor, path, WRITTEN if written_only else _ANY)
        self._watched[number] = path

    def close(self) -> None:
        """Stop reporting and release the descriptor. Closing twice does nothing."""
        if self._descriptor >= 0:
            if not self._loop.is_closed():
                self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1

    def _read(self) -> None:
        changed: set[Path] = set()
        try:
            for event in read_events(self._descriptor):
                if event.mask & OVERFLOW:
                    changed.update(self._watched.values())
                elif event.watch in self._watched:
                    path = self._watched[event.watch]
                    changed.add(path / os.fsdecode(event.name) if event.name else path)
        except BlockingIOError:
            return
        self._on_change(changed)


def _libc():  # noqa: ANN202 - ctypes has no public type for a library
    if sys.platform != "linux":
        raise OSError(errno.ENOSYS, "this system has no inotify")
    import ctypes  # ~2 ms

    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int, path: Path | str | None = None) -> int:
    if result < 0:
        import ctypes

        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), path)
    return result
