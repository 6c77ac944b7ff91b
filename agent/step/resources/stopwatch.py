"""Measure how long a run was busy (docs/requirements.md 3.1)."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...protocol import Clock


class Stopwatch:
    """Seconds in which a model, a tool or a check ran. Parallel work counts once."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._busy = 0
        self._since = 0.0
        self._total = 0.0
        self._counted = 0.0

    @contextmanager
    def running(self) -> Generator[None]:
        """Count the time while the block runs."""
        if self._busy == 0:
            self._since = self._clock.monotonic()
        self._busy += 1
        try:
            yield
        finally:
            self._busy -= 1
            if self._busy == 0:
                self._total += self._clock.monotonic() - self._since

    @property
    def seconds(self) -> float:
        """Return the seconds so far, including a running block."""
        running = self._clock.monotonic() - self._since if self._busy else 0.0
        return self._total + running

    @property
    def uncounted(self) -> float:
        """Return the seconds since the last `count`."""
        return self.seconds - self._counted

    def count(self) -> float:
        """Return the seconds since the last call."""
        seconds, self._counted = self.uncounted, self.seconds
        return seconds
