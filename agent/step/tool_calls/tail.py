"""The end of what a command prints, heard while it runs: all that is left of one that a person ends."""

from __future__ import annotations

_KEPT = 4_000
"""Bytes."""


class Tail:
    """Hears output and keeps its end."""

    def __init__(self) -> None:
        self._end = bytearray()
        self._dropped = 0

    def hear(self, data: bytes) -> None:
        """Takes the next bytes."""
        self._end += data
        if (more := len(self._end) - _KEPT) > 0:
            del self._end[:more]
            self._dropped += more

    @property
    def text(self) -> str:
        """What was kept, and how much was not."""
        text = self._end.decode("utf-8", "replace")
        return f"[{self._dropped:,} bytes left out]\n{text}" if self._dropped else text
