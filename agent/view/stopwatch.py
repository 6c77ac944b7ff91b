"""A stopwatch for the activities of a run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Stopwatch:
    """Live seconds in which a model, a tool or a check ran, until a finished step reports the exact value."""

    exact: float = 0.0
    """Seconds of the activities whose finished step reported the exact value."""
    measured: float = 0.0
    """Seconds measured since then."""
    since: float | None = None
    """Unix time at which the current activity started."""

    def start(self, at: float) -> None:
        """Record that an activity started at the Unix time `at`."""
        if self.since is None:
            self.since = at

    def halt(self, at: float) -> None:
        """Record that all activities stopped at the Unix time `at`."""
        if self.since is not None:
            self.measured += max(0.0, at - self.since)
            self.since = None

    def set_exact(self, seconds: float) -> None:
        """Replace the measured time by the exact number of seconds of these activities."""
        self.exact += seconds
        self.measured, self.since = 0.0, None

    def read(self, now: float) -> float:
        """Return the seconds up to the Unix time `now`."""
        running = max(0.0, now - self.since) if self.since is not None else 0.0
        return self.exact + self.measured + running
