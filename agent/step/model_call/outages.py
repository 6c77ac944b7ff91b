"""Decide how long to wait for a server that refuses calls for now or is away (docs/requirements.md 8.3)."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...protocol import Clock, ModelFault

TRIES = 3
"""Number of attempts after a fault of an answer, which the provider may bill. A rate limit gets them in any case."""
BY_ITSELF = 60.0
"""Seconds that a run waits by itself while a person can be asked: for one wait that a provider asks for, and in total
for a server that is away."""
LONGEST_ALONE = 600.0
"""Seconds that a run waits in total if nobody can be asked."""
SHARE_ALONE = 0.25
"""Share of the time left that such a run waits at most."""
_LONGEST_BACKOFF = 15.0
_SHORTEST = 0.2
_AWAY = frozenset({"rate-limit", "server"})
_GATEWAY = frozenset({408, 502, 503, 504})
"""Statuses of a gateway whose model server is away. They count also if the fault is a time-out."""


def is_away(fault: ModelFault) -> bool:
    """Return whether the server refuses calls for now or cannot be reached, so that no answer had begun."""
    return fault.retryable and (fault.kind in _AWAY or fault.status in _GATEWAY)


@dataclass(slots=True)
class _Outage:
    """The time since a server last answered."""

    began: float
    alone: float
    """Seconds that may be waited if nobody can be asked."""
    due: float
    """When the newest wait ends."""


class Outages:
    """The servers that do not answer now. A run and its tries share it, so that one outage is not waited for twice."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._open: dict[str, _Outage] = {}

    def end(self, model: str) -> None:
        """Note that the model's server answered, or that a person decided to continue."""
        self._open.pop(model, None)

    def waited(self, model: str) -> float:
        """Return the seconds since the server of the model stopped answering, or 0 if it answers."""
        outage = self._open.get(model)
        return 0.0 if outage is None else self._clock.monotonic() - outage.began

    def seconds_to_wait(
        self, model: str, fault: ModelFault, attempt: int, seconds_left: float | None, *, is_attended: bool
    ) -> float | None:
        """Return the seconds until the next attempt, with jitter, or None if there is none without a person.

        `attempt`: number of attempts before this one. `is_attended`: a person can be asked.
        """
        if not fault.retryable:
            return None
        wait = max(fault.retry_after or 0.0, min(2.0**attempt, _LONGEST_BACKOFF) * random.uniform(0.5, 1.0))
        if is_away(fault):
            outage = self._outage(model, seconds_left)
            room = (BY_ITSELF if is_attended else outage.alone) - (self._clock.monotonic() - outage.began)
            if is_attended and attempt < TRIES:
                room = max(room, BY_ITSELF)
            if fault.retry_after is None and room >= _SHORTEST:
                wait = min(wait, room)
            if wait > room:
                return None
            outage.due = self._clock.monotonic() + wait
        elif attempt >= TRIES:
            return None
        return None if seconds_left is not None and wait >= seconds_left else wait

    def _outage(self, model: str, seconds_left: float | None) -> _Outage:
        now = self._clock.monotonic()
        outage = self._open.get(model)
        if outage is None or now > outage.due + BY_ITSELF:  # nobody called the server meanwhile
            alone = LONGEST_ALONE if seconds_left is None else min(LONGEST_ALONE, SHARE_ALONE * seconds_left)
            outage = self._open[model] = _Outage(now, alone, now)
        return outage
