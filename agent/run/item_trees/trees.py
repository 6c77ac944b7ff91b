"""The places in which the items of a migration are worked: each works one item after the other."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ...facts.tries import ItemFacts
from ...finder.item_trees import TreeFailed
from ...protocol import WorktreeStarted, item_tree_name
from ...step.resources.unit_watch import UnitWatch
from ...step.resources.watched_lock import WatchedLock
from ...workspace.errors import SnapshotDamaged
from ...workspace.git.repository import GitFailed
from ..tries.try_context import WorkFolder, context_in, work_folder
from ..tries.worktrees import make_worktree, remove_all, remove_worktree, tries_folder
from .item_places import LayerPlace, WorktreePlace, begin_layer, context_of_item
from .item_tree import Shared, WorktreeInUse
from .updating import update

if TYPE_CHECKING:
    from ...layers.run_layers import RunLayers
    from ...step.resources.context import RunContext


class Worktrees:
    """The places of a run: layers, or where these do not work, git worktrees that are removed when the run ends."""

    def __init__(self, ctx: RunContext, count: int) -> None:
        """`ctx`: the run's. `count`: how many places there may be."""
        self._ctx = ctx
        self._watch = UnitWatch(ctx.workspace)
        self._shared = Shared(ctx, WatchedLock("the tree of the run", ctx.events.bound(None, None)), self._watch)
        self._free: asyncio.PriorityQueue[int] = asyncio.PriorityQueue()
        for number in range(1, count + 1):
            self._free.put_nowait(number)
        self._folders: dict[int, WorkFolder] = {}
        self._has_worktrees = False

    async def acquire(self, key: str, path: str, work: str | None) -> WorktreeInUse:
        """Wait for a free place and give it the files of the run's tree. `path`: the item's file, for people.

        `work`: name of the item's work. Raises PersonInterrupted, TreeFailed.
        """
        number = await self._ctx.activity.interruptible(self._free.get())
        try:
            return await self._in_use(number, key, path, work)
        except (GitFailed, SnapshotDamaged, OSError) as error:
            raise TreeFailed(f"no worktree for {path}: {error}") from error

    async def _in_use(self, number: int, key: str, path: str, work: str | None) -> WorktreeInUse:
        """Make a place whose number is taken. Raises TreeFailed, GitFailed, SnapshotDamaged, OSError."""
        layers = self._ctx.layers
        place: WorktreePlace | LayerPlace
        try:
            if layers is None:
                place = await self._worktree(number, key, path, work)
            else:
                place = await self._layer(layers, number, key, path, work)
        except BaseException:
            self._free.put_nowait(number)
            raise
        try:
            base = place.facts.world = await place.ctx.snapshots.take()
        except BaseException:
            await place.free()
            raise
        return WorktreeInUse(self._shared, number, key, work, place, base)

    async def _layer(self, layers: RunLayers, number: int, key: str, path: str, work: str | None) -> LayerPlace:
        """Begin a layer. Raises TreeFailed."""
        ctx, name = self._ctx, item_tree_name(number, key)
        facts = ItemFacts(ctx.facts, str(ctx.workspace.root))
        make = partial(context_of_item, ctx, facts, name, f"worktree {number}, {path}")
        unit, made = await begin_layer(layers, self._watch, make)
        started = WorktreeStarted(tree=number, key=key, place=str(unit.folder), layer=True)
        ctx.events.record(started, work=work, durable=True)
        return LayerPlace(ctx, layers, self._watch, facts, make, partial(self._free.put_nowait, number), unit, made)

    async def _worktree(self, number: int, key: str, path: str, work: str | None) -> WorktreePlace:
        """Make or update a git worktree. Raises GitFailed, SnapshotDamaged, OSError."""
        ctx, place, name = self._ctx, self._place(number), item_tree_name(number, key)
        ctx.events.record(WorktreeStarted(tree=number, key=key, place=str(place)), work=work, durable=True)
        self._has_worktrees = True
        async with self._shared.lock.held(f"the preparation of the worktree for {path}"):
            folder = await self._folder(number, place)
        facts = ItemFacts(ctx.facts, str(folder.workspace.root))
        made = await context_in(ctx, folder, facts, name, f"worktree {number}, {path}")
        return WorktreePlace(ctx, made, facts, partial(self._free.put_nowait, number))

    async def _folder(self, number: int, place: Path) -> WorkFolder:
        """Return the worktree with the files of the run's tree. Raises GitFailed, SnapshotDamaged, OSError."""
        ctx, folder = self._ctx, self._folders.get(number)
        world = await ctx.snapshots.take()
        if folder is not None and not await update(ctx, folder, world):
            return folder
        self._folders.pop(number, None)
        await remove_worktree(ctx, place)
        root = await make_worktree(ctx.workspace, ctx.snapshots, ctx.env, place, world)
        made = self._folders[number] = work_folder(ctx, root)
        return made

    def _place(self, number: int) -> Path:
        return tries_folder(self._ctx.journal, self._ctx.facts, self._ctx.workspace) / str(number)

    async def close(self) -> None:
        """Remove all git worktrees, if any was made."""
        await self._watch.close()
        if self._has_worktrees:
            self._folders.clear()
            await remove_all(self._ctx)
