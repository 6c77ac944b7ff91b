"""The places in which the items of a migration are worked: each works one item after the other, in a unit of work."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from ...facts.tries import ItemFacts
from ...finder.item_trees import TreeFailed
from ...layers.remedies import LayerRefused
from ...layers.unit import Unit
from ...protocol import WorktreeStarted, item_tree_name
from ...step.resources.unit_watch import UnitWatch
from ...step.resources.watched_lock import WatchedLock
from ..passes.pass_unit import PassUnit
from ..setup.unit_folder import unit_folder
from ..tries.try_context import context_in, drop_context
from .item_tree import ItemInUse, Shared

if TYPE_CHECKING:
    from ...layers.run_layers import RunLayers
    from ...step.resources.context import RunContext


class ItemUnits:
    """The places of a run."""

    def __init__(self, ctx: RunContext, units: RunLayers, count: int) -> None:
        """`ctx`: the run's. `count`: how many places there may be."""
        self._ctx, self._units = ctx, units
        self._watch = UnitWatch(ctx.workspace)
        lock = WatchedLock("the tree of the run", ctx.events.bound(None, None))
        self._shared = Shared(ctx, units, lock, self._watch)
        self._free: asyncio.PriorityQueue[int] = asyncio.PriorityQueue()
        for number in range(1, count + 1):
            self._free.put_nowait(number)

    async def acquire(self, key: str, path: str, work: str | None) -> ItemInUse:
        """Wait for a free place and give it the files of the run's tree. `path`: the item's file, for people.

        `work`: name of the item's work. Raises PersonInterrupted, TreeFailed.
        """
        number = await self._ctx.activity.interruptible(self._free.get())
        place = _Place(self._ctx, self._units, self._watch, number, key, path, work)
        try:
            opened, facts = await place.open()
        except BaseException:
            self._free.put_nowait(number)
            raise
        return ItemInUse(self._shared, place, partial(self._free.put_nowait, number), opened, facts)

    async def close(self) -> None:
        """End what the places need."""
        await self._watch.close()


class _Place:
    """Begins the units for one item."""

    def __init__(
        self,
        ctx: RunContext,
        units: RunLayers,
        watch: UnitWatch,
        number: int,
        key: str,
        path: str,
        item_work: str | None,
    ) -> None:
        self._ctx, self._units, self._watch, self._path = ctx, units, watch, path
        self.number, self.key, self.item_work = number, key, item_work

    async def open(self, known: ItemFacts | None = None) -> tuple[PassUnit, ItemFacts]:
        """Begin a unit with the files of the run's tree. `known`: of the unit before. Raises TreeFailed."""
        ctx, name = self._ctx, item_tree_name(self.number, self.key)
        try:
            unit = await asyncio.to_thread(partial(Unit.begin, self._units, "item", lasts=True))
        except LayerRefused as refused:
            raise TreeFailed(str(refused)) from refused
        try:
            folder = unit_folder(ctx, unit)
            started = WorktreeStarted(tree=self.number, key=self.key, place=str(unit.folder), layer=True)
            ctx.events.record(started, work=self.item_work, durable=True)
            facts = known or ItemFacts(ctx.facts, "")
            facts.spec = msgspec.structs.replace(facts.spec, workspace=str(folder.workspace.seen))
            made = context_in(ctx, folder, facts, name, f"worktree {self.number}, {self._path}")
            await made.fingerprint.take()
        except BaseException:
            await asyncio.to_thread(unit.drop)
            raise
        self._watch.add(unit)
        return PassUnit(unit, made, ctx, self._units, self._watch), facts

    async def drop(self, opened: PassUnit, facts: ItemFacts) -> None:
        """Delete a unit. Raises OSError."""
        self._watch.remove(opened.unit)
        await drop_context(self._ctx, opened.ctx, facts)
        await asyncio.to_thread(opened.unit.drop)
