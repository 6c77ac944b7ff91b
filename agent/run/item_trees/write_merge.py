"""Write the merged files of an item into the run's tree, with an event before and after: a kill loses nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...facts.search.suspects import work_of
from ...protocol import JoinFinished, JoinStarted
from ...step.tool_calls.file_events import file_changed
from ...system.crash import crash_point
from ...workspace.errors import SnapshotDamaged

if TYPE_CHECKING:
    from ...step.resources.context import RunContext


async def write_merge(ctx: RunContext, started: JoinStarted, merged: Sequence[str] = ()) -> list[str]:
    """Write the files of a recorded merge that are not written yet, and record the end of the merge. `ctx`: the run's.

    Returns a line for each file that someone changed in the meantime; if there is one, nothing is written.
    """
    snapshots, work = ctx.snapshots, work_of(started.key)
    try:
        left = await snapshots.restore(started.world, started.files, expected=started.base)
        ctx.files.mark_changed()
        crash_point("join: written")
        if left:
            left += await snapshots.restore(started.base, started.files, expected=started.world)
        changes = await snapshots.changes(started.base, started.world)
    except SnapshotDamaged as error:
        left, changes = [str(error)], []
    with ctx.events.together():
        for change in changes if not left else ():
            if change.path in started.files:
                ctx.events.record(file_changed(ctx.journal, change, "model"), work=work)
        files = [] if left else started.files
        end = JoinFinished(tree=started.tree, key=started.key, files=files, merged=list(merged), conflicts=left)
        ctx.events.record(end, work=work)
    return left


async def finish_merges(ctx: RunContext) -> None:
    """Finish the merges that an earlier runner began. `ctx`: the run's."""
    assert ctx.facts.finder is not None  # only a migration has merges
    for started in list(ctx.facts.finder.worktrees.joins.values()):
        await write_merge(ctx, started)
