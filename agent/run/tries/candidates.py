"""Work the tries of a pass in parallel, measure them one by one, and apply the best one to the run's tree."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ...facts.tries import TryFacts
from ...layers.remedies import LayerRefused
from ...layers.unit import Unit
from ...protocol import (
    PassStarted,
    Prompted,
    TryChosen,
    TryFinished,
    TryMeasured,
    TryStarted,
    Work,
    WorkResult,
    try_name,
)
from ...step.resources.unit_watch import UnitWatch
from ...step.tool_calls.file_events import file_changed
from ...workspace.errors import SnapshotDamaged
from ...workspace.git.repository import GitFailed
from ...workspace.paths import Workspace
from ...workspace.snapshots.patches import patch_of
from ...workspace.snapshots.snapshots import Snapshots
from ..passes.left_patch import keep_left, remove_left
from ..passes.measure import Measured
from .attempt import Attempt, TryEnd
from .choice import best_try, measure_try, record_none, record_not_applied
from .conflict import decide_conflict, edited_since, why_handed_over, why_kept
from .try_context import context_in, context_of_try, drop_context, unit_folder
from .try_texts import first_message_of_try, system_prompt_of_try
from .worktrees import drop_folder, make_worktree, remove_all, remove_worktree, tries_folder, workspace_in

if TYPE_CHECKING:
    from ...facts.passes import PassFacts
    from ...layers.run_layers import RunLayers
    from ...step.resources.context import RunContext


class Candidates:
    """The tries of the open pass."""

    def __init__(self, ctx: RunContext, tools: Sequence[str]) -> None:
        self._ctx, self._tools = ctx, tools
        self._live: dict[int, Attempt] = {}
        self._watch = UnitWatch(ctx.workspace)

    @property
    def _facts(self) -> PassFacts:
        assert self._ctx.facts.pass_facts is not None  # only loops with passes have tries
        return self._ctx.facts.pass_facts

    async def work(self, work: Work) -> WorkResult:
        """Perform the work order of a try: begin it, or continue it after an interruption."""
        candidate, started = int(work.about), self._facts.open
        assert started is not None  # tries belong to an open pass
        try:
            attempt = self._live.get(candidate)
            if attempt is None or candidate not in self._facts.tries:
                attempt = await self._begin(candidate, started, work.work or "")
        except (GitFailed, SnapshotDamaged, LayerRefused, OSError) as error:
            why = f"the worktree for try {candidate} cannot be made: {error}"
            self._finish_unbegun(work, started, candidate, why)
            return WorkResult(work=work.work)
        over = await attempt.work(self._tools)
        if isinstance(over, WorkResult):
            return over
        await attempt.finish(over)
        return WorkResult(work=work.work, exhausted=over.exhausted)

    async def _begin(self, candidate: int, started: PassStarted, name: str) -> Attempt:
        """Make the worktree and the context of a try. Raises GitFailed, SnapshotDamaged, OSError."""
        ctx = self._ctx
        await self._drop(candidate)
        if ctx.layers is None:
            attempt = await self._in_worktree(candidate, started, name)
        else:
            attempt = await self._in_layer(ctx.layers, candidate, started, name)
        made = attempt.ctx
        self._live[candidate] = attempt
        made.events.record(Prompted(kind="system", text=system_prompt_of_try(made.facts)))
        text = first_message_of_try(ctx, made, started.number, candidate, started.tries)
        images = [*ctx.facts.spec.images, *self._facts.images]
        made.events.record(Prompted(kind="task", text=text, images=images))
        return attempt

    async def _in_worktree(self, candidate: int, started: PassStarted, name: str) -> Attempt:
        ctx = self._ctx
        place = tries_folder(ctx.journal, ctx.facts, ctx.workspace) / f"{started.number}.{candidate}"
        await remove_worktree(ctx, place)
        self._record_start(started, candidate, name, place, is_layer=False)
        root = await make_worktree(ctx.workspace, ctx.snapshots, ctx.env, place, started.world or "")
        made, facts = await context_of_try(ctx, root, name, _who(started, candidate), started)
        base = await made.snapshots.take()
        return Attempt(started.number, candidate, started.tries, place, base, made, facts)

    async def _in_layer(self, layers: RunLayers, candidate: int, started: PassStarted, name: str) -> Attempt:
        ctx = self._ctx
        unit = await asyncio.to_thread(partial(Unit.begin, layers, "try", lasts=True))
        try:
            self._record_start(started, candidate, name, unit.folder, is_layer=True)
            facts = TryFacts(ctx.facts, started, str(ctx.workspace.root))
            made = await context_in(ctx, unit_folder(ctx, unit), facts, name, _who(started, candidate))
            base = await made.snapshots.take()
        except BaseException:
            await asyncio.to_thread(unit.drop)
            raise
        self._watch.add(unit)
        return Attempt(started.number, candidate, started.tries, unit.folder, base, made, facts, unit)

    def _record_start(self, started: PassStarted, candidate: int, name: str, place: Path, *, is_layer: bool) -> None:
        event = TryStarted(
            number=started.number, candidate=candidate, tries=started.tries, place=str(place), layer=is_layer
        )
        self._ctx.events.record(event, work=name, durable=True)

    def _finish_unbegun(self, work: Work, started: PassStarted, candidate: int, why: str) -> None:
        end = TryFinished(
            number=started.number, candidate=candidate, tries=started.tries, why=why, fault=why, retryable=True
        )
        self._ctx.events.record(end, work=work.work)

    async def finish_all(self, why: str) -> None:
        """End unfinished tries, and store their changes as patches."""
        for attempt in list(self._live.values()):
            if attempt.candidate in self._facts.tries and self._facts.tries[attempt.candidate] is None:
                await attempt.finish(TryEnd(why))

    async def choose(
        self, started: PassStarted, why: str, *, judged: bool, may_hand_over: bool
    ) -> Measured | WorkResult | None:
        """Measure the tries and record which one to apply. Returns None, or why no try is applied.

        A WorkResult: a person has to decide first. Raises PersonInterrupted.
        """
        await self.finish_all(why)
        if not judged:
            return Measured(False, why)
        for attempt in sorted(self._live.values(), key=lambda one: one.candidate):
            end = self._facts.tries.get(attempt.candidate)
            if end is not None and end.files and attempt.candidate not in self._facts.measured:
                await measure_try(self._ctx, attempt, end)
        best = best_try(self._ctx)
        if best is None:
            return record_none(self._ctx, started)
        end = self._facts.tries[best.candidate]
        assert end is not None and end.world is not None  # it was measured
        base = self._ctx.facts.world = await self._ctx.snapshots.take()
        edited = await edited_since(self._ctx.snapshots, started, end, base)
        if edited:
            decision = await decide_conflict(self._ctx, best, edited, base, may_hand_over=may_hand_over)
            if decision == "hand over":
                return WorkResult(handoff=why_handed_over(best, edited))
            if decision == "keep":
                return record_not_applied(self._ctx, started, why_kept(best, edited), best.seconds)
        self._record_choice(started, best, end, base)
        return None

    def _record_choice(self, started: PassStarted, best: TryMeasured, end: TryFinished, base: str) -> None:
        assert end.world is not None  # it was measured
        self._ctx.events.record(
            TryChosen(
                number=started.number,
                candidate=best.candidate,
                tries=started.tries,
                score=best.score,
                world=end.world,
                base=base,
                files=end.files,
                said=end.said,
                lines=best.lines,
            ),
            durable=True,
        )

    async def apply(self, chosen: TryChosen) -> str | None:
        """Write the files of the chosen try into the run's tree. Returns None, or why that failed."""
        ctx = self._ctx
        await self.clear()
        left = await ctx.snapshots.restore(chosen.world, chosen.files, expected=chosen.base)
        ctx.files.mark_changed()
        if left:
            left += await ctx.snapshots.restore(chosen.base, chosen.files, expected=chosen.world)
            return f"try {chosen.candidate} of {chosen.tries} could not be applied: {left[0]}"
        known = ctx.facts.changes.files
        files = frozenset(chosen.files)
        changes = [one for one in await ctx.snapshots.changes(chosen.base, chosen.world) if one.path in files]
        with ctx.events.together():
            for change in changes:
                event = file_changed(ctx.journal, change, "model")
                if change.path not in known or known[change.path][1] != event.after:
                    ctx.events.record(event)
        return None

    async def sweep(self) -> None:
        """Clean up after an earlier runner: store the changes of its tries as patches, and remove their worktrees."""
        ctx, started = self._ctx, self._facts.last
        for lost in list(self._facts.lost):
            patch, files, why = None, list[str](), "the program was killed"
            if lost.layer:
                patch, files, why = await keep_left(ctx, Path(lost.place))
                root = None
            else:
                root = await workspace_in(ctx.workspace, Path(lost.place))
            if root is not None and started is not None and started.number == lost.number:
                snapshots = Snapshots(Workspace(root), ctx.journal.path.with_suffix(".snapshots"))
                try:
                    world = await snapshots.take()
                    changes = await snapshots.changes(started.world or "", world)
                    patch, files = ctx.journal.keep(patch_of(changes)), [one.path for one in changes]
                except SnapshotDamaged:
                    pass  # without a snapshot, the changes are unknown
            ctx.events.record(
                TryFinished(
                    number=lost.number,
                    candidate=lost.candidate,
                    tries=lost.tries,
                    why=why,
                    patch=patch if files else None,
                    files=files,
                    lost=True,
                ),
                work=try_name(lost.number, lost.candidate),
            )
        for folder in self._facts.left_layers:  # those of tries that had ended: their patches are in the journal
            await asyncio.to_thread(remove_left, Path(folder))
        self._facts.left_layers.clear()
        await remove_all(ctx)

    async def clear(self) -> None:
        """Remove the worktrees of the pass."""
        for candidate in list(self._live):
            await self._drop(candidate)

    async def close(self) -> None:
        """End unfinished tries and remove the worktrees, because the runner ends."""
        if self._live:
            if self._ctx.facts.ended is None:
                await self.finish_all("the runner ended during the try")
            await self.clear()
        await self._watch.close()

    async def _drop(self, candidate: int) -> None:
        attempt = self._live.pop(candidate, None)
        if attempt is not None:
            await drop_context(self._ctx, attempt.ctx, attempt.facts)
            if attempt.unit is not None:
                self._watch.remove(attempt.unit)
                await asyncio.to_thread(attempt.unit.drop)
                return
            await remove_worktree(self._ctx, attempt.place)
            if not self._live:
                await asyncio.to_thread(drop_folder, attempt.place.parent)


def _who(started: PassStarted, candidate: int) -> str:
    """Return the name of a try for people."""
    return f"try {candidate} of {started.tries}"
