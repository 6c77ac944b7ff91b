"""Close a pass with tries: choose one, apply it to the run's tree, and judge the result."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import msgspec

from ...protocol import PassStarted, TryChosen, WorkResult
from ..tries.choice import record_not_applied
from ..tries.review import apply_approved, review
from .measure import Measured
from .unproven import unproven_in_git

if TYPE_CHECKING:
    from ...facts.passes import PassFacts
    from ...step.resources.context import RunContext
    from ..tries.candidates import Candidates
    from .pass_end import PassEnd
    from .pass_repository import PassRepository


class KeepOrRollBack(Protocol):
    """Keeps the changes of a pass in the run's tree, or rolls them back."""

    def __call__(self, started: PassStarted, why: str, *, is_whole: bool, judged: bool) -> Awaitable[WorkResult]:
        """`judged`: whether there is time for a verdict; otherwise they are rolled back."""
        ...


@dataclass(frozen=True, slots=True)
class TriesEnd:
    """Closes the passes of one run that have tries."""

    _ctx: RunContext
    _candidates: Candidates
    _repository: PassRepository
    _end: PassEnd
    _keep_or_roll_back: KeepOrRollBack

    @property
    def _facts(self) -> PassFacts:
        assert self._ctx.facts.pass_facts is not None  # only loops with passes have tries
        return self._ctx.facts.pass_facts

    async def close(self, started: PassStarted, why: str, *, is_whole: bool, judged: bool) -> WorkResult:
        """Apply the best try to the run's tree, and close the pass. Without a chosen try, the tree is unchanged."""
        found: Measured | WorkResult | None = None
        if self._facts.chosen is None:
            found = await self._candidates.choose(started, why, judged=judged, may_hand_over=is_whole)
        if isinstance(found, WorkResult):
            return found
        await self._candidates.clear()  # also removes the branches and tags that they made
        if self._facts.chosen is not None and self._ctx.facts.spec.improve is None:
            return await self._close_reviewed(started, self._facts.chosen, why)
        if self._facts.chosen is not None and (failed := await self._candidates.apply(self._facts.chosen)) is not None:
            found = record_not_applied(self._ctx, started, failed)
        if found is None:
            base = applied_to(started, self._facts.chosen)
            return await self._keep_or_roll_back(base, why, is_whole=True, judged=judged)
        moved = await self._repository.moved(started)
        lines = unproven_in_git(moved)
        if lines and not self._repository.is_own_tree and self._ctx.facts.spec.improve is not None:
            return self._end.hand_over(started, [], lines)
        if moved is not None and moved.history and self._repository.is_own_tree:  # a try changed the run's HEAD or refs
            world = await self._ctx.snapshots.take()
            kept = await self._end.keep_patch(started, [], moved, world, found, "")
            await self._end.roll_back(msgspec.structs.replace(started, world=world), kept)
            return WorkResult()
        changed = [end for end in self._facts.tries.values() if end is not None and end.files]
        verdict = "unmeasured" if not found.is_measured else "reverted" if changed else "unchanged"
        self._end.finish(started, verdict, found.why, ends=found.ends)
        return WorkResult()

    async def _close_reviewed(self, started: PassStarted, chosen: TryChosen, why: str) -> WorkResult:
        """Show the chosen try of a goal run at the gate, apply what is approved, and check the result."""
        found = await review(self._ctx, chosen)
        if isinstance(found, WorkResult):
            return found
        if isinstance(found, Measured):
            self._end.finish(started, "reverted", found.why, ends=found.ends)
            return WorkResult()
        failed = await apply_approved(self._ctx, chosen, found)
        base, judged = applied_to(started, chosen), failed is None
        return await self._keep_or_roll_back(base, failed or why, is_whole=True, judged=judged)


def applied_to(started: PassStarted, chosen: TryChosen | None) -> PassStarted:
    """Return the start of the pass; with a chosen try, its snapshot is that before the try was applied."""
    return started if chosen is None else msgspec.structs.replace(started, world=chosen.base)
