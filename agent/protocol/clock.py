"""Time is passed in, so that a test drives hours in milliseconds."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    def now(self) -> float:
        """Unix seconds: for stamps and deadlines of the wall clock."""
        ...

    def monotonic(self) -> float:
        """Seconds that never run backwards: for budgets and time-outs."""
        ...

    async def sleep(self, seconds: float) -> None: ...
