"""The pool of worktrees of a migration: each works one item after the other."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from ...facts.tries import ItemFacts
from ...finder.item_trees import TreeFailed
from ...protocol import WorktreeStarted, item_tree_name
from ...step.resources.watched_lock import WatchedLock
from ...workspace.errors import SnapshotDamaged
from ...workspace.git.repository import GitFailed
from ..tries.try_context import WorkFolder, context_in, drop_context, work_folder
from ..tries.worktrees import make_worktree, remove_all, remove_worktree, tries_folder
from .item_tree import Shared, WorktreeInUse
from .updating import update

if TYPE_CHECKING:
    from ...step.resources.context import RunContext


class Worktrees:
    """The worktrees of a run. Each is made when it is first needed, and removed when the run ends."""

    def __init__(self, ctx: RunContext, count: int) -> None:
        """`ctx`: the run's. `count`: how many worktrees there may be."""
        self._ctx = ctx
        self._shared = Shared(ctx, WatchedLock("the tree of the run", ctx.events.bound(None, None)))
        self._free: asyncio.PriorityQueue[int] = asyncio.PriorityQueue()
        for number in range(1, count + 1):
            self._free.put_nowait(number)
        self._folders: dict[int, WorkFolder] = {}
        self._is_used = False

    async def acquire(self, key: str, path: str, work: str | None) -> WorktreeInUse:
        """Wait for a free worktree and give it the files of the run's tree. `path`: the item's file, for people.

        `work`: name of the item's work. Raises PersonInterrupted, TreeFailed.
        """
        number = await self._ctx.activity.interruptible(self._free.get())
        try:
            return await self._begin(number, key, path, work)
        except (GitFailed, SnapshotDamaged, OSError) as error:
            self._free.put_nowait(number)
            raise TreeFailed(f"no worktree for {path}: {error}") from error
        except BaseException:
            self._free.put_nowait(number)
            raise

    async def _begin(self, number: int, key: str, path: str, work: str | None) -> WorktreeInUse:
        ctx, place, name = self._ctx, self._place(number), item_tree_name(number, key)
        ctx.events.record(WorktreeStarted(tree=number, key=key, place=str(place)), work=work, durable=True)
        self._is_used = True
        async with self._shared.lock.held(f"the preparation of the worktree for {path}"):
            folder = await self._folder(number, place)
        facts = ItemFacts(ctx.facts, str(folder.workspace.root))
        made = await context_in(ctx, folder, facts, name, f"worktree {number}, {path}")
        facts.world = base = await folder.snapshots.take()

        async def free() -> None:
            await drop_context(ctx, made, facts)
            self._free.put_nowait(number)

        return WorktreeInUse(self._shared, number, key, work, made, base, free)

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
        """Remove all worktrees, if any was made."""
        if self._is_used:
            self._folders.clear()
            await remove_all(self._ctx)
