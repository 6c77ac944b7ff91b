"""Update a worktree to the files of the run's tree."""

from __future__ import annotations

import asyncio
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...step.resources.context import RunContext
    from ..tries.try_context import WorkFolder


async def update(ctx: RunContext, folder: WorkFolder, world: str) -> list[str]:
    """Update a worktree to the snapshot `world` of the run's tree. Returns a line for each file that was not updated.

    `ctx`: the run's. Raises SnapshotDamaged, OSError.
    """
    own = await folder.snapshots.take()
    if own == world:
        return []
    changes = await folder.snapshots.changes(own, world)
    stored = [change.path for change in changes if change.kind != "large"]
    left = await folder.snapshots.restore(world, stored, expected=own)
    for change in changes:
        if change.kind == "large":  # too large for the snapshot store
            await asyncio.to_thread(_copy, ctx, folder, change.path, exists=change.after_mode is not None)
    return left


def _copy(ctx: RunContext, folder: WorkFolder, path: str, *, exists: bool) -> None:
    target = folder.workspace.root / path
    target.unlink(missing_ok=True)
    if exists:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ctx.workspace.root / path, target, follow_symlinks=False)
