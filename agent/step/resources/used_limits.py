"""What a run uses of its limits now, with the seconds that no event has recorded yet, and what is left."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from ...budget.reserve import Reserve, reserve_for
from ...protocol import FILE_FORMATS, Clock, Spent

if TYPE_CHECKING:
    from ...budget.ledger import Left
    from ...budget.shared_ledger import SharedLedger
    from ...state.facts.run_facts import RunFacts
    from .models_in_use import ModelsInUse


class UsedLimits:
    """The limits of a run or of one of its tries, and those of the runs above. A run and its tries share the time."""

    def __init__(
        self,
        facts: RunFacts,
        clock: Clock,
        models: ModelsInUse,
        shared: SharedLedger,
        stopwatch: _Stopwatch | None = None,
    ) -> None:
        """`shared`: the ledger in which the run counts for the runs above it."""
        self._facts, self._clock, self._models, self._shared = facts, clock, models, shared
        self._stopwatch = _Stopwatch(clock) if stopwatch is None else stopwatch

    def for_try(self, facts: RunFacts) -> UsedLimits:
        """Return those of a try: the same time, with its facts."""
        return UsedLimits(facts, self._clock, self._models, self._shared, self._stopwatch)

    def running(self) -> AbstractContextManager[None]:
        """Count the seconds of the block as busy."""
        return self._stopwatch.running()

    def standing(self) -> AbstractContextManager[None]:
        """Do not count the seconds of the block, which is within a `running` block: a person is asked."""
        return self._stopwatch.standing()

    def left(self) -> list[Left]:
        """Return what the limits leave now: first those of this run, then those of each run above."""
        return self._left(self.reserve())

    def spent(self) -> Spent:
        """Return what counts against the limits of this run now.

        A running call counts with the amounts with which it was admitted.
        """
        return self._own(Reserve()).spent

    def uncounted(self) -> float:
        """Return busy seconds that no `StepFinished` has recorded yet."""
        return self._stopwatch.uncounted

    def count_seconds(self) -> float:
        """Return the busy seconds since the last call, for the event that records them."""
        return self._stopwatch.count()

    def seconds_left(self) -> float | None:
        """Return the seconds until the time limit or the deadline of this run or of one above, whichever is sooner.

        Returns None if no run has either. The reserve for the wrap-up is included.
        """
        now = self._clock.now()
        all_left = [left.seconds(now) for left in self._left(Reserve())]
        return min((seconds for seconds in all_left if seconds is not None), default=None)

    def seconds_for_work(self) -> float | None:
        """Return the seconds that a tool or a check may take, without the reserve for the wrap-up (3.3, 3.5)."""
        left = self.seconds_left()
        if left is None:
            return None
        reserved = self.reserve().seconds
        return max(0.0, left - min(reserved, max(left, 0.0) / 2))

    @property
    def command_seconds(self) -> float:
        """Time-out for a command that does not set one."""
        return self._facts.spec.command_timeout

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

    def _left(self, reserve: Reserve) -> list[Left]:
        return [self._own(reserve), *self._shared.left(self.uncounted())]

    def _own(self, reserve: Reserve) -> Left:
        return self._facts.ledger.left(self._facts.budget, reserve, self.uncounted())


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
        self._begin()
        try:
            yield
        finally:
            self._end()

    @contextmanager
    def standing(self) -> Generator[None]:
        """Do not count the time of the block for the `running` block around it."""
        self._end()
        try:
            yield
        finally:
            self._begin()

    def _begin(self) -> None:
        if self._busy == 0:
            self._since = self._clock.monotonic()
        self._busy += 1

    def _end(self) -> None:
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
