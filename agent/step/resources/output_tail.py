"""Keep the end of a running command's output: for its newest line, and for commands that a person ends."""

from __future__ import annotations

_KEPT = 4_000
"""Bytes that are kept."""


class Tail:
    """Collects output and keeps its end."""

    def __init__(self) -> None:
        self._end = bytearray()
        self._dropped = 0

    def feed(self, data: bytes) -> None:
        """Add bytes of the output."""
        self._end += data
        if (more := len(self._end) - _KEPT) > 0:
            del self._end[:more]
            self._dropped += more

    @property
    def end(self) -> bytes:
        """What is kept: at most `_KEPT` bytes."""
        return bytes(self._end)

    @property
    def text(self) -> str:
        """Return the kept end and how much was dropped."""
        text = self._end.decode("utf-8", "replace")
        return f"[{self._dropped:,} bytes left out]\n{text}" if self._dropped else text
