"""Read a command's output from a pipe into bounded memory."""

from __future__ import annotations

import asyncio
import fcntl
import os
import sys
from collections.abc import Callable
from contextlib import suppress

from .output import HeadTail

_PIECE = 1 << 20
_FLOOD = 64_000_000
"""Bytes of output after which reading is slowed down, so that a command cannot use a whole core."""
_FLOOD_PAUSE = 0.002


class Reader:
    """Reads a pipe when the event loop reports data, and never blocks."""

    def __init__(self, fd: int, on_output: Callable[[bytes], None] | None, keep: int) -> None:
        self.kept = HeadTail(keep)
        self.drained = asyncio.Event()
        self._fd, self._on_output = fd, on_output
        self._loop = asyncio.get_running_loop()
        self._pause: asyncio.TimerHandle | None = None
        os.set_blocking(fd, False)
        if sys.platform == "linux":
            with suppress(OSError):  # the user's quota of pipe memory is used up: the default of 64 KiB is enough
                fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, _PIECE)
        self._loop.add_reader(fd, self._read)

    def close(self) -> None:
        """Stop reading, even if other processes still hold the write end."""
        if self._fd < 0:
            return
        if self._pause is not None:
            self._pause.cancel()
        self._loop.remove_reader(self._fd)
        os.close(self._fd)
        self._fd = -1
        self.drained.set()

    def _read(self) -> None:
        try:
            piece = os.read(self._fd, _PIECE)
        except BlockingIOError:
            return
        if not piece:
            self.close()
            return
        self.kept.add(piece)
        if self._on_output is not None:
            self._on_output(piece)
        if self.kept.total > _FLOOD:
            self._loop.remove_reader(self._fd)
            self._pause = self._loop.call_later(_FLOOD_PAUSE, self._loop.add_reader, self._fd, self._read)
