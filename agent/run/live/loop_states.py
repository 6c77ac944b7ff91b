"""Build the `LoopState` from which a loop decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...loops.shared.state import LoopState

if TYPE_CHECKING:
    from ...finder.finder import Finder
    from ...protocol import Budget, Exhausted, WorkResult
    from ...step.resources.context import RunContext
    from .pool import Pool


class LoopStates:
    """Builds the state from the facts, the search and the running work."""

    def __init__(self, ctx: RunContext, finder: Finder | None, pool: Pool) -> None:
        self._ctx, self._finder, self._pool = ctx, finder, pool
        self._exhausted: tuple[Budget | None, Exhausted | None] = (None, None)
        self._ending: list[WorkResult] = []
        """Results that end a search; they are kept until its other work has ended."""

    def state(self, results: Sequence[WorkResult]) -> LoopState:
        """Return the present state. `results`: of the work that ended since the last decision."""
        ctx, finder = self._ctx, None
        if self._finder is not None:
            self._pool.take_request()
            results = [*self._ending, *results]
            self._ending = [one for one in results if one.fault or one.handoff] if self._pool.busy else []
            budget, end = self._exhausted
            finder = self._finder.state(self._pool.busy, end if budget == ctx.facts.budget else None)
        now, price = ctx.clock.now(), ctx.models.current.price
        return LoopState(ctx.facts, results, ctx.watched(), finder, self._pool.busy, now, price, ctx.judges)

    def note_exhausted(self, results: Sequence[WorkResult]) -> None:
        """Remember until a limit changes that the budget is exhausted, because other work may still run."""
        for result in results:
            if result.exhausted is not None:
                self._exhausted = (self._ctx.facts.budget, result.exhausted)
