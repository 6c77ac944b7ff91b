"""A pipe from a runner to the view that started it: lines of `Reply`, read without blocking."""

from __future__ import annotations

import os

import msgspec

from .start_request import Reply

_PIECE = 65_536


class Replies:
    """The view's end, and the runner's end until the runner has it."""

    def __init__(self) -> None:
        self._reading, self.writing = os.pipe()
        os.set_blocking(self._reading, False)
        self._rest = b""
        self._open = {self._reading, self.writing}

    def read(self) -> list[Reply]:
        """Return the lines that arrived since the last call."""
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
        """Close the writing end, once the runner has its copy."""
        self._close(self.writing)

    def close(self) -> None:
        """Close the ends of the pipe that are still open."""
        self._close(self._reading)
        self._close(self.writing)

    def _close(self, descriptor: int) -> None:
        if descriptor in self._open:
            self._open.discard(descriptor)
            os.close(descriptor)
