"""How long tools, commands and git hooks may take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class TimeLimits(Protocol):
    """The limits of a run on the time of its tools, as they are now."""

    def seconds_for_work(self) -> float | None:
        """Return the seconds until the time of the run is up, or None if there is no limit."""
        ...

    @property
    def command_seconds(self) -> float:
        """Time-out for a command that does not set one."""
        ...


@dataclass(frozen=True, slots=True)
class FixedTime:
    """The same limits at any time: of a call on another machine, or of a person, whose time does not count."""

    seconds: float | None = None
    command_seconds: float = 120.0

    def seconds_for_work(self) -> float | None:
        """Return the seconds, or None if there is no limit."""
        return self.seconds
