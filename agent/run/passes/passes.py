"""Begin passes, judge them, and commit them or roll them back.

Before a roll-back, the changes are stored as a patch in the journal (docs/requirements.md 2.5, 2.7).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ...facts.verdicts import result_of
from ...layers.namespaces import NamespacesRefused
from ...layers.occupied import Occupied
from ...layers.remedies import LayerRefused
from ...layers.unit import UnitLost
from ...loops.shared.passes import BEGIN, CLOSE, TRY
from ...loops.shared.state import LoopState, met, suspects_left
from ...protocol import (
    Branch,
    GoalTries,
    ImproveSpec,
    IntervalSpec,
    PassFinished,
    PassStarted,
    Prompted,
    Work,
    WorkResult,
)
from ...step.checks.verify import verify
from ...step.resources.activity import PersonInterrupted
from ...step.resources.unit_watch import UnitWatch
from ...step.tool_calls.apply_effects import finish_accepted
from ...workspace.git.pass_preflight import why_no_pass
from ...workspace.git.repository import GitFailed, Repository
from ...workspace.snapshots.patches import change_hash
from ..suspect import accept_same_results
from ..tries.candidates import Candidates
from ..tries.verdict import predicates_met
from .child_changes import note_child_changes
from .left_patch import remove_left, stays_in
from .measure import Measured, judge_score, measure_baseline
from .pass_end import PassEnd
from .pass_repository import PassRepository, RepositoryChange
from .pass_texts import commit_message, describe_failure, first_message, pass_summary
from .pass_unit import PassUnit, begin_pass_unit, left_pass_unit
from .tries_end import TriesEnd, applied_to
from .unit_end import UnitEnd
from .unproven import edits_by_file, unproven, unproven_in_git

if TYPE_CHECKING:
    from ...facts.passes import PassFacts
    from ...step.resources.context import RunContext
    from ...workspace.snapshots.snapshots import Change

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
        self.candidates = Candidates(ctx, tools)
        self._repository = PassRepository(ctx, self._branch)
        self._end = PassEnd(ctx, self._repository)
        self._tries_end = TriesEnd(ctx, self.candidates, self._repository, self._end, self._keep_or_roll_back)
        self._unit_end = UnitEnd(ctx, self._end, lambda: self._branch, self._judge)
        self._watch = UnitWatch(ctx.workspace)
        self._unit: PassUnit | None = None
        """That of the open pass, if it works in a layer."""
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
    def uses_layers(self) -> bool:
        """Whether a new pass works in a layer."""
        improve = self._improve
        has_own_steps = self._goal_tries is None and (improve is None or (improve.tries == 1 and not self._is_run))
        return self.ctx.layers is not None and has_own_steps

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
        """Whether changes in the workspace belong to an open pass: one without tries that is not being rolled back."""
        started = self.facts.open
        return started is not None and started.tries == 1 and self.facts.rolling_back is None

    @property
    def is_undecided(self) -> bool:
        """Whether the open pass waits for a decision about a suspect check."""
        found, asked = suspects_left(self.ctx.facts), self.ctx.facts.verdicts.asked
        return self._asks and self.is_open and any(result_of(check) not in asked for check in found)

    async def perform(self, work: Work) -> WorkResult:
        """Perform a work order that is not a step. The person can interrupt it."""
        try:
            if work.kind == TRY:
                return await self.candidates.work(work)
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
        """Continue the pass that an earlier runner left in a layer. Returns a hand-off that ends it, or None.

        To be called before anything works with the files of the pass.
        """
        started, ctx = self.facts.open, self.ctx
        if started is None or started.layer is None:
            return None
        if ctx.layers is None:
            if self.facts.keeping is not None:
                why = "is being applied, and layers cannot be used here now: resume it where they work"
                return WorkResult(handoff=f"pass {started.number} {why}")
            self._unit_end.finish_lost(
                started, f"it worked in a layer, which cannot be mounted here now: {started.layer}"
            )
            return None
        await finish_accepted(ctx, ctx.layers, ctx.events.bound(None, None))
        if self.facts.keeping is not None:
            await asyncio.to_thread(remove_left, Path(started.layer))
            return self._unit_end.finish_kept(started)
        try:
            self._unit = await left_pass_unit(ctx, ctx.layers, self._watch, Path(started.layer))
        except (LayerRefused, UnitLost, Occupied) as error:
            if self.facts.rolling_back is not None:
                return self._unit_end.finish_dropped(started, self.facts.rolling_back)
            why = f"its layer cannot be mounted again: {error}{stays_in(Path(started.layer))}"
            self._unit_end.finish_lost(started, why)
        return None

    async def close_unit(self) -> None:
        """Let go of the layer of the open pass, because the runner ends. A later runner continues in it."""
        unit, self._unit = self._unit, None
        if unit is not None:
            with suppress(
                Occupied, NamespacesRefused, OSError
            ):  # it is then mounted again without having been forced out
                await unit.leave()
        await self._watch.close()

    async def end(self, *, judged: bool, asks: bool) -> WorkResult:
        """Close the open pass, if there is one, because the run ends. The result has the hand-off, if there is one.

        `judged`: whether there is time for a verdict; otherwise the pass is rolled back. `asks`: whether a pass with a
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
        """Begin a pass with a new conversation, or skip it if the tree is not clean."""
        number = self.facts.number + 1
        head, git, why_not = await self._find_base()
        if why_not is not None:
            self._skip(number, why_not)
            return
        try:
            await self._begin_unit()
            await self._start(number, head, git)
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

    async def _begin_unit(self) -> None:
        """Give the pass a layer, if the run has layers. Raises LayerRefused."""
        if self.uses_layers and self.ctx.layers is not None:
            self._unit = await begin_pass_unit(self.ctx, self.ctx.layers, self._watch)

    async def _start(self, number: int, head: str | None, git: str | None) -> None:
        """Record the start of a pass. Raises PersonInterrupted."""
        ctx = self.work_ctx
        began = ctx.clock.now()
        world = await ctx.fingerprint.take()
        ctx.files.forget_changed()
        if self._goal_tries is None:  # a goal run has just checked its tree
            await verify(ctx, ctx.events.bound(None, None), claim=False, baseline=True, compared=False)
        ctx.stalls.forget(None)
        green = met(LoopState(ctx.facts)) is not None
        having, is_run = self._goal_tries or self._improve, self._is_run
        tries = 1 if having is None or is_run else having.tries
        text, images = first_message(ctx.facts, self.facts, number), [*ctx.facts.spec.images, *self.facts.images]
        with ctx.events.together():
            ctx.events.record(
                PassStarted(
                    number=number,
                    began=began,
                    world=world,
                    head=head,
                    git=git,
                    green=green,
                    fresh=True,
                    layer=None if self._unit is None else str(self._unit.unit.folder),
                    tries=tries,
                )
            )
            if self._goal_tries is None and not is_run:
                ctx.events.record(Prompted(kind="task", text=text, images=images))

    async def _find_base(self) -> tuple[str | None, str | None, str | None]:
        """Return the commit to build on (None: no commits), the repository's state, and why no pass can start."""
        try:
            found = await self._repository.find()
            head, why = await self._head(found)
            if why or self.uses_layers:
                await self._repository.wait(None if why or head is None else found)
                return head, None, why
            return head, await self._repository.record(found), None
        except GitFailed as error:
            return None, None, str(error) if self._interval is not None else None

    async def _head(self, found: Repository | None) -> tuple[str | None, str | None]:
        root, protected = self.ctx.workspace.root, self._branch.protected
        if self._goal_tries is not None:
            return None, None
        if self._interval is not None:
            why = await why_no_pass(found, root, protected, is_clean=not self.uses_layers)
            return (None, why) if why or found is None else (await found.head(), None)
        last = self.facts.last
        if found is None or (last is not None and last.head is None):
            return None, None
        if last is None and await why_no_pass(found, root, protected, is_clean=not self.uses_layers):
            return None, None
        return await found.head(), None

    @property
    def _branch(self) -> Branch:
        if self._interval is not None:
            return self._interval.branch
        return self._improve.branch if self._improve is not None else Branch()

    async def _close(self, why: str, *, is_whole: bool, judged: bool = True) -> WorkResult:
        """Close the pass. `is_whole`: it ended by itself, not because the run ends, so the run may be handed over."""
        started = self.facts.open
        assert started is not None  # only an open pass is closed
        if self._unit is not None:
            try:
                return await self._unit_end.close(self._unit, started, why, is_whole=is_whole, judged=judged)
            finally:
                self._unit = self._unit if self.facts.open is not None else None
        if self.facts.rolling_back is not None:
            await self._end.roll_back(applied_to(started, self.facts.chosen), self.facts.rolling_back)
        elif started.tries == 1:
            return await self._keep_or_roll_back(started, why, is_whole=is_whole, judged=judged)
        else:
            return await self._tries_end.close(started, why, is_whole=is_whole, judged=judged)
        return WorkResult()

    async def _keep_or_roll_back(self, started: PassStarted, why: str, *, is_whole: bool, judged: bool) -> WorkResult:
        """Keep the changes of the pass or roll them back. In the user's folder, hand over other changes."""
        ctx = self.ctx
        world = await self._world_at_end(started)
        changes = await ctx.snapshots.changes(started.world or "", world)
        moved = await self._repository.moved(started)
        if self._goal_tries is None and (left := await self._unproven(changes, moved, world)):
            return self._end.hand_over(started, changes, left)
        own = ctx.facts.changes.paths_in_pass
        change = change_hash([change for change in changes if change.path in own])
        if not change and (self._improve is not None or moved is None or not moved.history):
            if changes or moved is not None:  # files that a check wrote, or changes by git commands
                why = "only a check changed files" if changes else why
                kept = await self._end.keep_patch(started, changes, moved, world, Measured(False, why), "")
                await self._end.roll_back(started, kept)
            else:
                self._end.finish(started, "unchanged", why)
            return WorkResult()
        found = await self._judge(ctx, started, why, is_whole) if judged else Measured(False, why)
        if found is None:
            return WorkResult()
        moved = await self._repository.moved(started)  # a check may run git too
        if not self._repository.is_own_tree:
            world = await ctx.fingerprint.take()
            changes = await ctx.snapshots.changes(started.world or "", world)
            is_done = found.kept and self._goal_tries is not None  # a try of a goal run is not committed
            if not is_done and (left := await self._unproven(changes, moved, world)):
                return self._end.hand_over(started, changes, left)
        commit, why, is_committed = None, found.why, False
        if found.kept:
            try:
                commit, why = await self._commit(started, moved, changes, found.why)
                is_committed = started.head is not None
            except GitFailed as error:
                if self._improve is None:  # otherwise the next pass could not start clean
                    found = Measured(False, f"it could not be committed: {error}")
                why = f"{why}; not committed: {error}"
        if found.kept:
            is_left = is_committed or not self._repository.is_own_tree
            left = [] if is_left else await self._repository.forget_history(started, moved)
            files = [one.path for one in changes]
            self._end.finish(started, "kept", why, files=files, commit=commit, change=change, left=left)
            return WorkResult()
        kept = await self._end.keep_patch(started, changes, moved, world, found, change)
        await self._end.roll_back(started, kept)
        return WorkResult()

    async def _unproven(self, changes: Sequence[Change], moved: RepositoryChange | None, world: str) -> list[str]:
        """Return the changes in the user's folder that no tool wrote, one line each. `world`: the present snapshot."""
        if self._repository.is_own_tree:
            return []
        edits, chosen = edits_by_file(self.ctx.facts.changes.in_pass), self.facts.chosen
        as_chosen = frozenset[str]()
        if chosen is not None:  # rundry wrote these files as they are in the chosen try
            since = await self.ctx.snapshots.changes(chosen.world, world)
            as_chosen = frozenset(chosen.files) - {one.path for one in since}
        doubtful = [one for one in changes if one.path not in as_chosen]
        left = [*unproven(doubtful, edits), *self.ctx.facts.seals.undecided]
        return [*dict.fromkeys(left), *unproven_in_git(moved)]

    async def hand_over_after_kill(self) -> WorkResult | None:
        """Hand over the pass that an earlier runner left open, if it has changes that no tool wrote."""
        started = self.facts.open
        if started is None or started.layer or not self.is_open or self._goal_tries is not None or self._is_run:
            return None  # a child run continues with its own part, and the end of its pass compares
        world = await self._world_at_end(started)
        changes = await self.ctx.snapshots.changes(started.world or "", world)
        left = await self._unproven(changes, await self._repository.moved(started), world)
        return self._end.hand_over(started, changes, left) if left else None

    async def _world_at_end(self, started: PassStarted) -> str:
        """Take the snapshot at the end of the pass. The changes of its child run, if it is one, then belong to it."""
        if self._is_run:
            self.ctx.files.mark_changed()
        world = await self.ctx.fingerprint.take()
        if self._is_run:
            await note_child_changes(self.ctx, started, world)
        self.ctx.files.forget_changed()
        return world

    async def _judge(self, ctx: RunContext, started: PassStarted, why: str, is_whole: bool) -> Measured | None:
        """Return the verdict on the pass, or None if a person must be asked about a suspect check first.

        `ctx`: whose files are those of the pass. Raises PersonInterrupted.
        """
        wanted = ctx.facts.spec.predicates.exist
        if wanted:
            fired = await predicates_met(ctx)
            if fired is None:
                accept_same_results(ctx.facts, ctx.events)
                fired = met(LoopState(ctx.facts))
            if fired is None:
                asks = started.tries == 1 and self.is_undecided
                return None if asks else Measured(False, describe_failure(ctx.facts))
            why = fired
        if self._improve is not None:
            return await judge_score(ctx, self._improve, started.number, self.facts.chosen)
        if wanted:
            return Measured(True, why)
        ended = is_whole and (ctx.facts.finish is not None or self.facts.silences > 0)
        return Measured(ended, why if ended else f"{why}, before the model called finish")

    async def _commit(
        self, started: PassStarted, moved: RepositoryChange | None, changes: Sequence[Change], why: str
    ) -> tuple[str | None, str]:
        """Commit a kept pass. Returns the commit, if the repository has any, and the reason. Raises GitFailed."""
        if started.head is None:
            return None, why if self._goal_tries is not None else f"{why}; not committed"
        words = commit_message(self.ctx.facts, started.number, pass_summary(self.ctx.facts), why)
        commit, remark = await self._repository.commit(started, moved, changes, words)
        return commit, f"{why}; {remark}" if remark else why
