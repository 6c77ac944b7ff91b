"""The pipe for `Reply` lines from a runner to the view that started it, read without blocking."""

from __future__ import annotations

import os

import msgspec

from .start_request import Reply

_PIECE = 65_536


class Replies:
    """Both ends of the pipe. The view closes the writing end once the runner has inherited it."""

    def __init__(self) -> None:
        self._reading, self.writing = os.pipe()
        os.set_blocking(self._reading, False)
        self._rest = b""
        self._open = {self._reading, self.writing}

    def read(self) -> list[Reply]:
        """Return the replies that arrived since the last call."""
        if self._reading not in self._open:
            return []
        try:
            data = os.read(self._reading, _PIECE)
        except BlockingIOError:
            return []
        if not data:
            self.close()
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [msgspec.json.decode(line, type=Reply) for line in lines]

    def close_writing(self) -> None:
        """Close the writing end, after the runner has inherited it."""
        self._close(self.writing)

    def close(self) -> None:
        """Close both ends, if they are open."""
        self._close(self._reading)
        self._close(self.writing)

    def _close(self, descriptor: int) -> None:
        if descriptor in self._open:
            self._open.discard(descriptor)
            os.close(descriptor)
