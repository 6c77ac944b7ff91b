"""One try of a pass: run its steps in its own unit of work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...protocol import Again, Exhausted, Finish, Prompted, Reason, TryFinished, WorkResult
from ...step.perform import perform
from ..loops.shared.continue_pass import continue_pass
from ..loops.shared.loop_state import LoopState
from ..loops.shared.pass_decisions import CLOSE
from .left_patch import UNREADABLE
from .pass_texts import model_summary
from .unit_changes import change_hash

if TYPE_CHECKING:
    from ...state.facts.try_facts import TryFacts
    from ...step.resources.run_context import RunContext
    from .pass_unit import PassUnit
    from .unit_changes import UnitChange


@dataclass(frozen=True, slots=True)
class TryEnd:
    """How and why a try ended."""

    why: str
    fault: str | None = None
    retryable: bool = False
    exhausted: Exhausted | None = None
    """The limit that ended it. None means no limit did."""


@dataclass(slots=True)
class Attempt:
    """A try that is being worked or waits to be measured."""

    number: int
    """Number of the pass."""
    candidate: int
    tries: int
    opened: PassUnit
    """Its unit, with the context in which it works."""
    facts: TryFacts
    """The facts of that context."""
    began: int
    """Position in the journal at which it began."""
    changes: list[UnitChange] = field(default_factory=list["UnitChange"])
    """What it changed, once it has ended."""

    @property
    def ctx(self) -> RunContext:
        """The context in which it works."""
        return self.opened.ctx

    async def work(self, tools: Sequence[str]) -> TryEnd | WorkResult:
        """Run the steps until the try ends. Returns a WorkResult if it was interrupted, or waits for a decision."""
        ctx, results = self.ctx, list[WorkResult]()
        while True:
            if not await ctx.activity.rest_while_paused():
                return WorkResult(work=ctx.work, interrupted=True)
            self._deliver()
            decision = self._decide(results)
            if isinstance(decision, TryEnd):
                return decision
            results = [await perform(ctx, decision.works[0], tools)]
            if results[0].interrupted:
                return WorkResult(work=ctx.work, interrupted=True)
            if results[0].handoff is not None:
                return WorkResult(work=ctx.work, handoff=results[0].handoff)

    def _decide(self, results: Sequence[WorkResult]) -> Again | TryEnd:
        """Return the next step, by the rules of a pass."""
        passing = self.facts.pass_facts
        assert passing is not None  # only loops with passes have tries
        decision = continue_pass(LoopState(self.facts, results), passing, self._most_steps())
        if isinstance(decision, Finish):
            fault = next((one for one in results if one.fault is not None), None)
            over = next((one.exhausted for one in results if one.exhausted is not None), None)
            if fault is not None:
                return TryEnd(decision.detail, fault=fault.fault, retryable=fault.retryable)
            return TryEnd(decision.detail, exhausted=over if decision.reason is Reason.BUDGET else None)
        assert isinstance(decision, Again)  # a pass does not wait in the middle
        closing = next((work for work in decision.works if work.kind == CLOSE), None)
        return decision if closing is None else TryEnd(closing.about)

    def _most_steps(self) -> int | None:
        spec = self.facts.spec
        if spec.tries is not None:
            return spec.tries.most_steps(self.facts.budget.steps)
        assert spec.improve is not None  # the other loop with tries
        return spec.improve.pass_steps

    def _deliver(self) -> None:
        """Send to this try the messages that the user sent to the run."""
        if self.facts.main.unanswered():
            return
        for text in self.facts.said:
            self.ctx.events.record(Prompted(kind="note", text=f"The person said: {text}"))
        self.facts.said.clear()

    async def finish(self, over: TryEnd) -> None:
        """Store the changes as a patch, and record the end of the try."""
        ctx, patch, why = self.ctx, None, over.why
        try:
            listed = await self.opened.listed()
            self.changes = await self.opened.changes(self.opened.files(listed))
            patch = ctx.journal.blobs.keep(await self.opened.patch(listed, "")) if self.changes else None
        except UNREADABLE as error:
            self.changes, why = [], f"{why}; what it changed cannot be read: {error}"
        ctx.events.record(
            TryFinished(
                number=self.number,
                candidate=self.candidate,
                tries=self.tries,
                why=why,
                said=model_summary(self.facts),
                patch=patch,
                files=[one.path for one in self.changes],
                change=change_hash(self.changes),
                fault=over.fault,
                retryable=over.retryable,
                exhausted=over.exhausted is not None,
            ),
            durable=True,
        )
