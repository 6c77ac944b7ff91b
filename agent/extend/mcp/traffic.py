"""Limit how much a server may send, so that a flood ends the server and not the run."""

from __future__ import annotations

import time
from collections.abc import Callable

from .failed import McpFailed

LONGEST_LINE = 8_000_000
"""Bytes of one message: an image of the largest size that a model gets fits in."""
_SECONDS = 10.0
_MESSAGES = 2_000
_BYTES = 32_000_000
"""Most messages and bytes in a span of `_SECONDS`."""
_NONSENSE = 50
"""Lines that are not messages. Some servers print a few lines to the wrong output when they start."""


class Traffic:
    """Counts what one server sends. Each method raises McpFailed if it is too much."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock`: returns seconds that only increase."""
        self._clock, self._since = clock, clock()
        self._messages = self._bytes = self._nonsense = 0
        self.total = 0
        """All messages so far."""

    def add_bytes(self, count: int) -> None:
        """Count bytes of the server's output."""
        self._turn()
        self._bytes += count
        if self._bytes > _BYTES:
            raise McpFailed(f"it sent more than {_BYTES:,} bytes in {_SECONDS:g} s")

    def add_message(self) -> None:
        """Count a message of the server."""
        self._turn()
        self._messages += 1
        self.total += 1
        if self._messages > _MESSAGES:
            raise McpFailed(f"it sent more than {_MESSAGES:,} messages in {_SECONDS:g} s")

    def add_nonsense(self) -> None:
        """Count a line that is not a message of the protocol."""
        self._nonsense += 1
        if self._nonsense > _NONSENSE:
            raise McpFailed(f"more than {_NONSENSE} lines of its output are not messages of the protocol")

    def _turn(self) -> None:
        now = self._clock()
        if now - self._since >= _SECONDS:
            self._since, self._messages, self._bytes = now, 0, 0
