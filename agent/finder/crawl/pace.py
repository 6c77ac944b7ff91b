"""Requests at an even pace."""

from __future__ import annotations

from ...protocol import Clock


class Pace:
    """Whoever asks is let through in the order of asking, never two within `interval` seconds."""

    def __init__(self, interval: float, clock: Clock) -> None:
        """`interval` 0: everyone at once."""
        self.interval = interval
        self._clock = clock
        self._next = 0.0

    async def turn(self) -> None:
        """Returns when it is one's turn. A turn that is cancelled is lost, not passed on."""
        if self.interval <= 0:
            return
        now = self._clock.monotonic()
        at = max(now, self._next)
        self._next = at + self.interval
        if at > now:
            await self._clock.sleep(at - now)
