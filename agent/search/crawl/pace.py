"""Send requests at an even pace."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...protocol import Clock


class Pace:
    """Let callers through in the order of their calls, at most one per `interval` seconds."""

    def __init__(self, interval: float, clock: Clock) -> None:
        """Set the interval in seconds, or 0 if nobody waits."""
        self.interval = interval
        self._clock = clock
        self._next = 0.0

    async def turn(self) -> None:
        """Wait for this caller's turn. A cancelled turn is lost and not given to another caller."""
        if self.interval <= 0:
            return
        now = self._clock.monotonic()
        at = max(now, self._next)
        self._next = at + self.interval
        if at > now:
            await self._clock.sleep(at - now)
