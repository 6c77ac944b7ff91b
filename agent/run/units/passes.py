"""Begin passes, judge them, and commit them or drop them. Each works in a layer or a copy of its own (decision 0039).

The changes of a pass that is not kept are stored as a patch in the journal (docs/requirements.md 2.5, 2.7).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ...layers.namespaces import NamespacesRefused
from ...layers.occupied import Occupied
from ...layers.remedies import LayerRefused
from ...layers.unit import UnitLost
from ...protocol import (
    GoalTries,
    ImproveSpec,
    IntervalSpec,
    PassFinished,
    PassStarted,
    Prompted,
    Reason,
    Work,
    WorkResult,
)
from ...repo.git_places import places_of
from ...repo.locks import wait_for_locks
from ...repo.pass_preflight import why_no_pass
from ...repo.repository import GitFailed, Repository
from ...step.checks.verify import verify
from ...step.resources.activity import PersonInterrupted
from ...step.resources.unit_watch import UnitWatch
from ...step.resources.watched_lock import LockEvents
from ...step.tool_calls.apply_effects import finish_accepted
from ..end.case_of_run import prepare_planted
from ..loops.shared.loop_state import LoopState, met
from ..loops.shared.pass_decisions import BEGIN, CLOSE, TRY
from .left_patch import remove_left, stays_in
from .measure import Measured, measure_baseline
from .pass_end import finish_pass
from .pass_texts import COPY_WORDS, first_message
from .pass_unit import PassUnit, begin_pass_unit, left_pass_unit, pass_unit_of_try
from .unit_end import UnitEnd, branch_of, has_undecided_suspect
from .work_tries import PassTries

if TYPE_CHECKING:
    from ...layers.run_layers import RunLayers
    from ...state.facts.pass_facts import PassFacts
    from ...step.resources.run_context import RunContext

CUT = "the run ended during the pass"


def passes_of(ctx: RunContext, tools: Sequence[str]) -> Passes | None:
    """Return the passes, or None for loops without passes."""
    spec = ctx.facts.spec
    has_passes = spec.interval is not None or spec.improve is not None or spec.tries is not None
    return Passes(ctx, tools) if has_passes else None


class Passes:
    """Performs the work orders of a loop with passes, except steps: begin, measure, run a try, close."""

    def __init__(self, ctx: RunContext, tools: Sequence[str]) -> None:
        self.ctx = ctx
        self.tries = PassTries(ctx, tools)
        self._end = UnitEnd(ctx)
        self._locks = LockEvents(ctx.events.bound(None, None))
        self._watch = UnitWatch(ctx.workspace)
        self._unit: PassUnit | None = None
        """The unit of the open pass, or of its chosen try."""
        self._asks = True
        """Whether a person is asked about a suspect check before the pass is closed."""

    @property
    def _interval(self) -> IntervalSpec | None:
        return self.ctx.facts.spec.interval

    @property
    def _improve(self) -> ImproveSpec | None:
        """The spec with its current limits."""
        return self.ctx.facts.spec.improve

    @property
    def _goal_tries(self) -> GoalTries | None:
        return self.ctx.facts.spec.tries

    @property
    def _is_run(self) -> bool:
        """Whether each pass is a child run."""
        return self._improve is not None and self._improve.pass_loop is not None

    @property
    def _units(self) -> RunLayers:
        assert self.ctx.units is not None  # a run with passes has them
        return self.ctx.units

    @property
    def work_ctx(self) -> RunContext:
        """The context whose files are those of the open pass, or of the run."""
        return self.ctx if self._unit is None else self._unit.ctx

    @property
    def facts(self) -> PassFacts:
        """The facts of the passes in the journal."""
        assert self.ctx.facts.pass_facts is not None  # facts of these loops always have it
        return self.ctx.facts.pass_facts

    @property
    def is_open(self) -> bool:
        """Whether a pass is open whose files a person can change: one without tries that is not being dropped."""
        started = self.facts.open
        return started is not None and started.tries == 1 and self.facts.rolling_back is None

    @property
    def is_undecided(self) -> bool:
        """Whether the open pass waits for a decision about a suspect check."""
        return self._asks and self.is_open and has_undecided_suspect(self.ctx.facts)

    async def perform(self, work: Work) -> WorkResult:
        """Perform a work order that is not a step. The person can interrupt it."""
        try:
            if work.kind == TRY:
                return await self.tries.work(work)
            if work.kind == BEGIN:
                await self._begin()
            elif work.kind == CLOSE:
                return await self._close(work.about, is_whole=True)
            elif self._improve is not None:
                return await measure_baseline(self.ctx, self._improve)
        except PersonInterrupted:
            return WorkResult(interrupted=True)
        return WorkResult()

    async def reopen(self) -> WorkResult | None:
        """Continue the pass that an earlier runner left. Returns a hand-off that ends it, or None.

        To be called before anything works with the files of the pass.
        """
        started, chosen = self.facts.open, self.facts.chosen
        if started is None:
            return None
        place = started.layer if chosen is None else chosen.place
        if place is None:  # its tries begin again
            return None
        ctx = self.ctx
        await finish_accepted(ctx, self._units, ctx.events.bound(None, None))
        if self.facts.keeping is not None:
            await asyncio.to_thread(remove_left, Path(place))
            return self._end.finish_kept(started)
        try:
            self._unit = await left_pass_unit(ctx, self._units, self._watch, Path(place))
        except (LayerRefused, UnitLost, Occupied) as error:
            if self.facts.rolling_back is not None:
                return self._end.finish_dropped(started, self.facts.rolling_back)
            self._end.finish_lost(started, f"its layer cannot be mounted again: {error}{stays_in(Path(place))}")
        return None

    async def close_unit(self) -> None:
        """Release the unit of the open pass, because the runner ends. A later runner continues in it."""
        unit, self._unit = self._unit, None
        if unit is not None:
            with suppress(
                Occupied, NamespacesRefused, OSError
            ):  # it is then mounted again without having been forced out
                await unit.leave()
        await self._watch.close()

    async def end(self, *, judged: bool, asks: bool) -> WorkResult:
        """Close the open pass, if there is one, because the run ends. The result has the hand-off, if there is one.

        `judged`: whether there is time for a verdict; otherwise the pass is dropped. `asks`: whether a pass with a
        suspect check stays open until a person was asked about it.
        """
        if self.facts.open is None:
            return WorkResult()
        if self._goal_tries is not None:  # a change that waits for its review stays so
            return WorkResult() if self.facts.chosen else await self._close(CUT, is_whole=False, judged=False)
        self._asks = asks
        with self.ctx.activity.in_progress():
            try:
                result = await self._close(CUT, is_whole=False, judged=judged)
            except PersonInterrupted:
                result = await self._close(CUT, is_whole=False, judged=False)
        self._asks = True
        return result

    async def _begin(self) -> None:
        """Begin a pass with a new conversation, or skip it if it could not be committed."""
        number = self.facts.number + 1
        head, why_not = await self._base()
        if why_not is not None:
            self._skip(number, why_not)
            return
        having = self._goal_tries or self._improve
        tries = 1 if having is None or self._is_run else having.tries
        try:
            if tries == 1:
                self._unit = await begin_pass_unit(self.ctx, self._units, self._watch)
            await self._start(number, head, tries)
        except LayerRefused as refused:
            self._skip(number, str(refused))
        finally:
            if self.facts.open is None and self._unit is not None:
                unit, self._unit = self._unit, None
                await unit.drop()

    def _skip(self, number: int, why: str) -> None:
        with self.ctx.events.together():
            self.ctx.events.record(PassStarted(number=number, began=self.ctx.clock.now()))
            self.ctx.events.record(PassFinished(number=number, verdict="skipped", why=why))

    async def _start(self, number: int, head: str | None, tries: int) -> None:
        """Record the start of a pass. Raises PersonInterrupted."""
        ctx = self.work_ctx
        began = ctx.clock.now()
        world = await ctx.fingerprint.take()
        ctx.files.forget_changed()
        if self._goal_tries is None:  # a goal run has just checked its tree
            await verify(ctx, ctx.events.bound(None, None), claim=False, baseline=True, compared=False)
            await prepare_planted(self.ctx)
        ctx.stalls.forget(None)
        green = met(LoopState(ctx.facts)) is not None
        seen = "" if ctx.workspace.seen == self.ctx.workspace.seen else COPY_WORDS.format(folder=ctx.workspace.seen)
        text, images = first_message(ctx.facts, self.facts, number) + seen, [*ctx.facts.spec.images, *self.facts.images]
        with ctx.events.together():
            ctx.events.record(
                PassStarted(
                    number=number,
                    began=began,
                    world=world,
                    head=head,
                    green=green,
                    fresh=True,
                    layer=None if self._unit is None else str(self._unit.unit.folder),
                    tries=tries,
                )
            )
            if self._goal_tries is None and not self._is_run:
                ctx.events.record(Prompted(kind="task", text=text, images=images))

    async def _base(self) -> tuple[str | None, str | None]:
        """Return the commit to build on (None if the pass is not committed), and why no pass can start."""
        if self._goal_tries is not None:
            return None, None
        root, last = self.ctx.workspace.root, self.facts.last
        try:
            found = await Repository.find(root, self.ctx.env)
            if self._interval is None and last is not None and last.head is None:
                return None, None
            if self._interval is not None or last is None:
                why = await why_no_pass(found, root, branch_of(self.ctx.facts.spec).protected)
                if why is not None:
                    return None, why if self._interval is not None else None
            if found is None:
                return None, None
            await wait_for_locks(await places_of(found), self._locks)
            return await found.head(), None
        except GitFailed as error:
            return None, str(error) if self._interval is not None else None

    async def _close(self, why: str, *, is_whole: bool, judged: bool = True) -> WorkResult:
        """Close the pass. `is_whole`: it ended by itself, not because the run ends, so the run may be handed over."""
        started = self.facts.open
        assert started is not None  # only an open pass is closed
        found = await self._choose(started, why, judged=judged) if self._unit is None else None
        if found is not None:
            await self.tries.clear()
            changed = any(end is not None and end.files for end in self.facts.tries.values())
            if found.ends is Reason.HANDOFF:
                finish_pass(self.ctx, started, "undecided", found.why, left=[found.why], ends=found.ends)
                return WorkResult(handoff=found.why)
            verdict = "unmeasured" if not found.is_measured else "reverted" if changed else "unchanged"
            finish_pass(self.ctx, started, verdict, found.why, ends=found.ends)
            return WorkResult()
        assert self._unit is not None  # `_choose` took the one of the chosen try
        try:
            return await self._end.close(self._unit, started, why, is_whole=is_whole, judged=judged, asks=self._asks)
        finally:
            self._unit = self._unit if self.facts.open is not None else None

    async def _choose(self, started: PassStarted, why: str, *, judged: bool) -> Measured | None:
        """Choose a try, and use its unit as that of the pass. Returns why none is chosen. Raises PersonInterrupted."""
        found = await self.tries.choose(started, why, judged=judged)
        if found is not None:
            return found
        chosen = await self.tries.take_chosen()
        self._unit = pass_unit_of_try(self.ctx, self._units, self._watch, *chosen)
        await self.tries.clear()
        return None
