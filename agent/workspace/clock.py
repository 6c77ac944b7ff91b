"""The machine's own clock."""

from __future__ import annotations

import asyncio
import time


class SystemClock:
    """Time as it passes. Implements `protocol.Clock`."""

    def now(self) -> float:
        """Unix seconds."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that never run backwards."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Returns after so many seconds; at once for none."""
        await asyncio.sleep(max(0.0, seconds))
