"""Compute what a run has used of its limits, and what is left."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from ...budget.reserve import Reserve, reserve_for
from ...protocol import FILE_FORMATS, Clock, Spent

if TYPE_CHECKING:
    from ...state.facts.run_facts import RunFacts
    from .ancestors import Ancestors
    from .models_in_use import ModelsInUse


class Usage:
    """What a run, or one of its tries, has used. A run and its tries share the stopwatch."""

    def __init__(
        self,
        facts: RunFacts,
        clock: Clock,
        models: ModelsInUse,
        ancestors: Ancestors,
        stopwatch: _Stopwatch | None = None,
    ) -> None:
        self._facts, self._clock, self._models, self._ancestors = facts, clock, models, ancestors
        self._stopwatch = _Stopwatch(clock) if stopwatch is None else stopwatch

    def for_try(self, facts: RunFacts) -> Usage:
        """Return the usage of a try: the same time, with its facts."""
        return Usage(facts, self._clock, self._models, self._ancestors, self._stopwatch)

    def running(self) -> AbstractContextManager[None]:
        """Count the seconds of the block as busy."""
        return self._stopwatch.running()

    def spent(self) -> Spent:
        """Return what counts against the limits now, with the seconds that no event has recorded yet.

        A running call counts with the amounts with which it was admitted.
        """
        return self._facts.spending.limited_with_calls + Spent(seconds=self.uncounted())

    def uncounted(self) -> float:
        """Return busy seconds that no `StepFinished` has recorded yet."""
        return self._stopwatch.uncounted

    def count_seconds(self) -> float:
        """Return the busy seconds since the last call, for the event that records them."""
        return self._stopwatch.count()

    def seconds_left(self) -> float | None:
        """Return the seconds until the time limit or the deadline of this run or of one above, whichever is sooner.

        Returns None if no run has either.
        """
        left: list[float] = []
        above = [(budget, spent) for _, budget, spent in self._ancestors.limits(self.uncounted())]
        for budget, spent in ((self._facts.budget, self.spent()), *above):
            if budget.seconds is not None:
                left.append(budget.seconds - spent.seconds)
            if budget.deadline is not None:
                left.append(budget.deadline - self._clock.now())
        return min(left, default=None)

    def seconds_for_work(self) -> float | None:
        """Return the seconds that a tool or a check may take, without the reserve for the wrap-up (3.3, 3.5)."""
        left = self.seconds_left()
        if left is None:
            return None
        reserved = self.reserve().seconds
        return max(0.0, left - min(reserved, max(left, 0.0) / 2))

    def reserve(self) -> Reserve:
        """Return what is kept for the wrap-up call. In a file format there is none: the program writes the end."""
        if self._facts.answers.format in FILE_FORMATS:
            return Reserve()
        model = self._models.current
        return reserve_for(self._facts.budget, model.price, model.window)

    def deadline_passed(self) -> bool:
        """Whether the run's deadline has passed."""
        deadline = self._facts.budget.deadline
        return deadline is not None and self._clock.now() >= deadline


class _Stopwatch:
    """Seconds in which a model, a tool or a check ran (docs/requirements.md 3.1). Parallel work counts once."""

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
