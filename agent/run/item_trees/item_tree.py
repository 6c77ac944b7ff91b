"""A worktree in use by one item: merge its changes into the run's tree, or drop them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...finder.item_trees import TreeFailed
from ...protocol import JoinFinished, JoinStarted, WorktreeFinished
from ...system.crash import crash_point
from ...workspace.errors import SnapshotDamaged, WriteFailed
from ...workspace.files.states import read_state
from ...workspace.files.write import write_any_file
from ...workspace.snapshots.patches import patch_of
from .merging import Merged, plan_merge
from .write_merge import write_merge

if TYPE_CHECKING:
    from ...step.resources.context import RunContext
    from ...step.resources.unit_watch import UnitWatch
    from ...step.resources.watched_lock import WatchedLock
    from ...workspace.snapshots.snapshots import Change
    from .item_places import ItemPlace


@dataclass(frozen=True, slots=True)
class Shared:
    """What all worktrees of a run share."""

    ctx: RunContext
    """Context of the run itself, for work on its own tree."""
    lock: WatchedLock
    """Held while the whole tree of the run is read or written."""
    watch: UnitWatch
    """Tells the layers of other items that the tree of the run changed."""


class WorktreeInUse:
    """A worktree that is in use by one item."""

    def __init__(
        self,
        shared: Shared,
        number: int,
        key: str,
        item_work: str | None,
        place: ItemPlace,
        base: str,
    ) -> None:
        """`item_work`: name of the item's work. `base`: the first snapshot of the place."""
        self._shared, self._number, self._key, self._item_work = shared, number, key, item_work
        self._place, self._base = place, base

    @property
    def ctx(self) -> RunContext:
        """The context for work in it. Another one after `reset`."""
        return self._place.ctx

    @property
    def work(self) -> str:
        """Name of the work in this worktree, for the events of the item's steps."""
        assert self.ctx.work is not None  # the context was made for this work
        return self.ctx.work

    async def merge(self) -> list[str]:
        """Merge the changes into the run's tree. Returns a line for each conflict; then nothing was written.

        Raises TreeFailed.
        """
        await self.ctx.background.end_all("its file is done")
        try:
            async with self._shared.lock.held(f"the merge of {self._key}"):
                return await self._merge()
        except (SnapshotDamaged, WriteFailed, OSError) as error:
            raise TreeFailed(f"its changes could not be merged: {error}") from error

    async def _merge(self) -> list[str]:
        run, snapshots = self._shared.ctx, self.ctx.snapshots
        changes = await self._changes()
        if not changes:
            return []
        base = await run.snapshots.take()
        paths = [change.path for change in changes]
        plan = plan_merge(changes, await snapshots.versions(self._base, paths), await snapshots.versions(base, paths))
        if plan.conflicts:
            end = JoinFinished(tree=self._number, key=self._key, conflicts=plan.conflicts)
            run.events.record(end, work=self._item_work)
            return plan.conflicts
        world = await self._with(plan.merged)
        started = JoinStarted(tree=self._number, key=self._key, world=world, base=base, files=plan.files)
        run.events.record(started, work=self._item_work, durable=True)
        crash_point("join: recorded")
        left = await write_merge(run, started, [*plan.merged])
        if not left:
            self._base = world
            self._shared.watch.changed()
        return left

    async def _with(self, merged: Mapping[str, Merged]) -> str:
        """Write the merged files into the worktree, and return its snapshot. Raises WriteFailed, OSError."""
        workspace = self.ctx.workspace
        for path, file in merged.items():
            await asyncio.to_thread(_write, self.ctx, workspace.root / path, file)
        return await self.ctx.snapshots.take()

    async def reset(self) -> None:
        """Drop the changes, and copy the files of the run's tree. Raises TreeFailed."""
        try:
            async with self._shared.lock.held(f"the update of the worktree for {self._key}"):
                await self._place.renew()
            self._base = await self.ctx.snapshots.take()
        except (SnapshotDamaged, OSError) as error:
            raise TreeFailed(f"the worktree could not be updated: {error}") from error

    async def release(self, why: str) -> None:
        """End the work on the item. `why`: how it ended, for people."""
        run, patch = self._shared.ctx, None
        try:
            await self.ctx.background.end_all("its work ended")
            if changes := await self._changes():
                patch = run.journal.keep(patch_of(changes))
        except (SnapshotDamaged, TreeFailed, OSError):
            pass  # the changes are unknown
        finally:
            end = WorktreeFinished(tree=self._number, key=self._key, why=why, patch=patch)
            run.events.record(end, work=self._item_work)
            await self._place.free()

    async def _changes(self) -> list[Change]:
        """Return the changes that are not merged yet. Raises SnapshotDamaged."""
        changes = await self.ctx.snapshots.changes(self._base, await self.ctx.snapshots.take())
        return [change for change in await self._place.own(changes) if self._may_change(change.path)]

    def _may_change(self, path: str) -> bool:
        """Return whether a change of this file may be merged: a guarded file must have been approved."""
        sealing = self.ctx.facts.seals
        return not self.ctx.guard.matches(path) or path in sealing.written or path in sealing.kept


def _write(ctx: RunContext, real: Path, file: Merged) -> None:
    write_any_file(ctx.workspace, read_state(real, beneath=ctx.workspace.root), file.data)
    real.chmod(file.mode)
