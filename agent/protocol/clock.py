"""The clock interface. Code receives a clock as an argument, so that a test can simulate hours in milliseconds."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    def now(self) -> float:
        """Return Unix seconds, for timestamps and wall-clock deadlines."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never decrease, for budgets and timeouts."""
        ...

    async def sleep(self, seconds: float) -> None: ...
