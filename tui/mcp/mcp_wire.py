"""Standard input and output as the wire of the protocol: bounded lines, and nothing else on standard output.

The streams of the SDK read in threads that cannot be cancelled, so that a signal could not end the server, and read
lines of any length. These read and write in daemon threads.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager

from ..text.show_text import one_line

LONGEST = 1_000_000
"""Bytes of the longest message that is read; longer ones are dropped."""
_DROPPED = f"rundry: dropped a message of more than {LONGEST} bytes"
_PIECE = 65_536
_AHEAD = 16
"""Messages that are read before the first of them is handled."""


class Incoming:
    """The lines that the client sends, until it closes its end."""

    def __init__(self, descriptor: int) -> None:
        """Read from this file descriptor. Call it while an event loop runs."""
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._room = threading.Semaphore(_AHEAD)
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, args=(descriptor,), daemon=True).start()

    async def __aiter__(self) -> AsyncGenerator[str]:
        """Yield each line."""
        while (line := await self._lines.get()) is not None:
            self._room.release()
            yield line

    def _read(self, descriptor: int) -> None:
        rest, is_dropping = b"", False
        while data := _read_some(descriptor):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                if not is_dropping and line.strip() and not self._put(line.decode("utf-8", "replace")):
                    return
                is_dropping = False
            if len(rest) > LONGEST:
                if not is_dropping:
                    print(one_line(_DROPPED), file=sys.stderr, flush=True)
                rest, is_dropping = b"", True
        self._put(None)

    def _put(self, line: str | None) -> bool:
        """Pass a line to the event loop when it has room, and return whether it still runs."""
        self._room.acquire()
        try:
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
        except RuntimeError:
            return False
        return True


class Outgoing:
    """The lines that the server sends."""

    def __init__(self, descriptor: int) -> None:
        """Write to this file descriptor. Call it while an event loop runs."""
        self._descriptor, self._loop = descriptor, asyncio.get_running_loop()
        self._written: asyncio.Future[None] | None = None

    async def write(self, text: str) -> None:
        """Write a line. Raises BrokenPipeError if the client is gone."""
        written = self._loop.create_future()
        threading.Thread(target=self._write, args=(text.encode(), written), daemon=True).start()
        await written

    async def flush(self) -> None:
        """Do nothing: `write` returns once everything is written."""

    def _write(self, data: bytes, written: asyncio.Future[None]) -> None:
        error: OSError | None = None
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError as problem:
            error = problem
        self._loop.call_soon_threadsafe(_settle, written, error)


@contextmanager
def claimed_streams() -> Generator[tuple[int, int]]:
    """Yield descriptors of standard input and output, while both names lead elsewhere.

    So nothing that a library prints reaches the client, and no child process reads its messages.
    """
    sys.stdout.flush()
    source, target = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    yield source, target


def _settle(written: asyncio.Future[None], error: OSError | None) -> None:
    if written.done():
        return
    if error is None:
        written.set_result(None)
    else:
        written.set_exception(error)


def _read_some(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _PIECE)
    except OSError:
        return b""
