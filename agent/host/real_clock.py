"""The real clock, which implements `protocol.Clock`."""

from __future__ import annotations

import asyncio
import time


class SystemClock:
    """The real time of this machine. Implements `protocol.Clock`."""

    def now(self) -> float:
        """Return the time in Unix seconds."""
        return time.time()

    def monotonic(self) -> float:
        """Return seconds that never decrease."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait this many seconds; return immediately if the number is zero or less."""
        await asyncio.sleep(max(0.0, seconds))
