"""Work the items of a migration in units of work: merge what one changed into the run's tree, or drop it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...layers.effect_rows import new_name
from ...layers.remedies import LayerRefused
from ...layers.unit import Unit
from ...protocol import (
    EffectsApplied,
    JoinFinished,
    JoinStarted,
    ToolFinished,
    WorktreeFinished,
    WorktreeStarted,
    has_own_tree,
    item_tree_name,
)
from ...search.item_trees import TreeFailed
from ...state.facts.try_facts import ItemFacts
from ...state.search.suspects import work_of as name_of_work
from ...step.resources.unit_watch import UnitWatch
from ...step.resources.watched_lock import WatchedLock
from ...step.tool_calls.apply_effects import apply_effects, finish_accepted
from ...step.tool_calls.effect_entries import sort_effects
from ...step.tool_calls.effects_at_gate import decide_effects
from ..start.unit_context import context_of_try, drop_context_of_try, unit_folder
from .left_patch import UNREADABLE, keep_left
from .merge_item import Replaced, plan_merge
from .pass_unit import PassUnit
from .unit_work import pass_approved, work_of

if TYPE_CHECKING:
    from ...layers.run_layers import Listed, RunLayers
    from ...protocol import Event
    from ...state.recorder import StepEvents
    from ...step.resources.run_context import RunContext

_IN_ITEM = "unknown: the program stopped during this action; the item is worked again from the start"


@dataclass(frozen=True, slots=True)
class _Shared:
    """The objects that all places of a run share."""

    ctx: RunContext
    """Context of the run itself, for work on its own tree."""
    units: RunLayers
    lock: WatchedLock
    """Held while changes are merged into the run's tree."""
    watch: UnitWatch
    """Notifies the units of other items when the tree of the run changed."""
    replaced: dict[str, list[Replaced]] = field(default_factory=dict[str, "list[Replaced]"])
    """What merges of this runner replaced, by path, oldest first."""
    free: asyncio.PriorityQueue[int] = field(default_factory=asyncio.PriorityQueue[int])
    """Numbers of the places that no item has."""


class ItemUnits:
    """The places in which the items of a migration are worked, in each one item after the other."""

    def __init__(self, ctx: RunContext, units: RunLayers, count: int) -> None:
        """`ctx`: the run's. `count`: how many places there may be."""
        lock = WatchedLock("the tree of the run", ctx.events.bound(None, None))
        self._shared = _Shared(ctx, units, lock, UnitWatch(ctx.workspace))
        for number in range(1, count + 1):
            self._shared.free.put_nowait(number)

    async def acquire(self, key: str, path: str, work: str | None) -> ItemInUse:
        """Wait for a free place and give it the files of the run's tree. `path`: the item's file, for people.

        `work`: name of the item's work. Raises PersonInterrupted, TreeFailed.
        """
        shared = self._shared
        number = await shared.ctx.activity.interruptible(shared.free.get())
        place = _Place(shared, number, key, path, work)
        try:
            opened, facts = await place.open()
        except BaseException:
            shared.free.put_nowait(number)
            raise
        return ItemInUse(shared, place, opened, facts)

    async def close(self) -> None:
        """End the processes that the places need."""
        await self._shared.watch.close()


class _Place:
    """Begins the units for one item."""

    def __init__(self, shared: _Shared, number: int, key: str, path: str, item_work: str | None) -> None:
        """`item_work`: name of the item's work."""
        self._shared, self._path = shared, path
        self.number, self.key, self.item_work = number, key, item_work

    async def open(self, known: ItemFacts | None = None) -> tuple[PassUnit, ItemFacts]:
        """Begin a unit with the files of the run's tree. `known`: of the unit before. Raises TreeFailed."""
        ctx, units, name = self._shared.ctx, self._shared.units, item_tree_name(self.number, self.key)
        try:
            unit = await asyncio.to_thread(partial(Unit.begin, units, "item", lasts=True))
        except LayerRefused as refused:
            raise TreeFailed(str(refused)) from refused
        try:
            folder = unit_folder(ctx, unit)
            started = WorktreeStarted(tree=self.number, key=self.key, place=str(unit.folder), layer=True)
            ctx.events.record(started, work=self.item_work, durable=True)
            facts = known or ItemFacts(ctx.facts, "")
            facts.spec = msgspec.structs.replace(facts.spec, workspace=str(folder.workspace.seen))
            made = context_of_try(ctx, folder, facts, name, f"worktree {self.number}, {self._path}")
            await made.fingerprint.take()
        except BaseException:
            await asyncio.to_thread(unit.drop)
            raise
        self._shared.watch.add(unit)
        return PassUnit(unit, made, ctx, units, self._shared.watch), facts

    async def drop(self, opened: PassUnit, facts: ItemFacts) -> None:
        """Delete a unit. Raises OSError."""
        self._shared.watch.remove(opened.unit)
        await drop_context_of_try(self._shared.ctx, opened.ctx, facts)
        await asyncio.to_thread(opened.unit.drop)


class ItemInUse:
    """A place that is in use by one item."""

    def __init__(self, shared: _Shared, place: _Place, opened: PassUnit, facts: ItemFacts) -> None:
        self._shared, self._place = shared, place
        self._opened, self._facts = opened, facts
        self._is_merged = False

    @property
    def ctx(self) -> RunContext:
        """The context for work in it. `reset` replaces it."""
        return self._opened.ctx

    @property
    def work(self) -> str:
        """Name of the work in it, for the events of the item's steps."""
        assert self.ctx.work is not None  # the context was made for this work
        return self.ctx.work

    async def merge(self) -> list[str]:
        """Merge the changes into the run's tree. Returns a line for each conflict; then nothing was written.

        Raises TreeFailed and PersonInterrupted.
        """
        try:
            async with self._shared.lock.held(f"the merge of {self._place.key}"):
                return await self._merge(await self._opened.listed())
        except (*UNREADABLE, ValueError) as error:
            raise TreeFailed(f"its changes could not be merged: {error}") from error

    async def _merge(self, listed: Listed) -> list[str]:
        run, layer, key = self._shared.ctx, self._opened.unit.layer, self._place.key
        events = run.events.bound(None, self._place.item_work)
        plan = await asyncio.to_thread(plan_merge, listed, layer, self._shared.replaced, run.journal.blobs)
        if plan.conflicts:
            events.record(JoinFinished(tree=self._place.number, key=key, conflicts=plan.conflicts))
            return plan.conflicts
        root, name = run.workspace.root, f"the work on {key}"
        found = await asyncio.to_thread(sort_effects, run.gate, root, plan.listed, run.guard, is_hook=False)
        pass_approved(found, work_of(self._facts.changes.standing[:]))
        decided = await decide_effects(run, found, plan.listed, name, events, asks=True)
        if not decided.rows:
            if decided.refused:
                events.record(JoinFinished(tree=self._place.number, key=key, left=decided.refused))
            return []
        started = JoinStarted(
            tree=self._place.number,
            key=key,
            files=sorted(decided.recorded),
            order=new_name(),
            merged=plan.merged,
            left=decided.refused,
        )
        accepted = decided.accepted([])
        groups, units, ending = plan.listed.groups, self._shared.units, _JoinEvents(events, started)
        applied = await apply_effects(run, units, layer, groups, accepted, name, ending, started)
        now = await asyncio.to_thread(self._opened.unit.tick)
        for path, row in decided.recorded.items():
            at = _changed_ns(root / path) or now
            self._shared.replaced.setdefault(path, []).append(Replaced(at, row.before))
        conflicts = [f"{one.path}: {one.conflict}" for one in applied.failed]
        self._shared.watch.changed()
        self._is_merged = not conflicts
        return conflicts

    async def reset(self) -> None:
        """Drop the changes, and begin again with the files of the run's tree. Raises TreeFailed."""
        opened, facts = self._opened, self._facts
        self._opened, self._facts = await self._place.open(facts)
        with suppress(OSError):  # it stays, and `rundry doctor` lists it
            await self._place.drop(opened, facts)

    async def release(self, why: str) -> None:
        """End the work on the item. `why`: how it ended, for people."""
        run, patch = self._shared.ctx, None
        try:
            if not self._is_merged:
                listed = await self._opened.listed()
                if self._opened.files(listed).effects:
                    patch = run.journal.blobs.keep(await self._opened.patch(listed, ""))
        except UNREADABLE as error:
            why = f"{why}; what it changed cannot be read: {error}"
        finally:
            end = WorktreeFinished(tree=self._place.number, key=self._place.key, why=why, patch=patch)
            run.events.record(end, work=self._place.item_work)
            with suppress(OSError):
                await self._place.drop(self._opened, self._facts)
            self._shared.free.put_nowait(self._place.number)


async def finish_left_items(ctx: RunContext) -> None:
    """Finish the merges that were begun before a kill, and keep what other items changed as patches. `ctx`: the run's.

    Removes the units. Items that were not merged are worked again. After a kill it can be repeated.
    """
    facts = ctx.facts
    if facts.finder is None or ctx.units is None:
        return
    steps = {work: number for number, work in facts.open_steps.items() if has_own_tree(work)}
    work = next(iter(steps), None)
    events = ctx.events.bound(steps.get(work), work)
    for call_id, proposal in list(facts.requests.approved.items()):
        events.record(ToolFinished(call_id=call_id, tool=proposal.tool, ok=False, result=_IN_ITEM, summary="unknown"))
    ends = {
        started.order: _JoinEvents(ctx.events.bound(None, name_of_work(started.key)), started)
        for started in facts.finder.worktrees.joins.values()
    }
    await finish_accepted(ctx, ctx.units, ctx.events.bound(None, None), ends)
    for left in list(facts.finder.worktrees.left):
        patch, _, why = await keep_left(ctx, Path(left.place))
        ctx.events.record(
            WorktreeFinished(tree=left.tree, key=left.key, why=why, patch=patch), work=name_of_work(left.key)
        )


def _changed_ns(path: Path) -> int:
    """Return the change time of what is at a path, or 0 if nothing is there."""
    try:
        return path.lstat().st_ctime_ns
    except OSError:
        return 0


@dataclass(frozen=True, slots=True)
class _JoinEvents:
    """Records events, and after the outcome of a merge's order also the end of the merge."""

    events: StepEvents
    started: JoinStarted

    def record(self, event: Event) -> None:
        self.events.record(event)
        if isinstance(event, EffectsApplied):
            self.events.record(_finished(self.started, event))


def _finished(started: JoinStarted, applied: EffectsApplied) -> JoinFinished:
    failed = {*started.files} if applied.lost else {line.partition(": ")[0] for line in applied.conflicts}
    return JoinFinished(
        tree=started.tree,
        key=started.key,
        files=[path for path in started.files if path not in failed],
        merged=started.merged,
        conflicts=applied.conflicts,
        left=started.left,
    )
