"""Roll back the items that an earlier runner left unfinished: restore their files, and record what happened."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...facts.search.suspects import work_of
from ...protocol import FileChanged, ProposalOpened, Record, ToolFinished, WorkResult, WorktreeFinished, has_own_tree
from ...workspace.errors import SnapshotDamaged
from ..commands.undo import revert_changes
from ..commands.undo_context import UndoContext
from ..item_trees.write_merge import finish_merges
from ..tries.worktrees import remove_all
from .left_patch import keep_left
from .unproven import why_undecided

if TYPE_CHECKING:
    from ...facts.facts import RunFacts
    from ...facts.logs.change_log import RecordedChange
    from ...journal.journal import Journal
    from ...step.resources.context import RunContext
    from ...workspace.paths import Workspace
    from ...workspace.snapshots.snapshots import Change
    from ..live.live_run import LiveRun

_IN_WORKTREE = "unknown: the program stopped during this action; the item is worked again from the start"
_LOST = "unknown: the program stopped during this action"


async def roll_back_items(run: LiveRun) -> WorkResult | None:
    """Restore what the tools wrote for unfinished items. Returns a hand-off that names all other changes; None: none.

    If an item ran a command, nothing is restored: what the command changed and what the user changed since cannot be
    told apart. Call this before other work of the earlier runner is closed. After a kill it can be repeated.
    """
    ctx, facts = run.ctx, run.facts
    if facts.finder is None or not facts.may_change_files or not facts.finder.interrupted_flights:
        return None
    if facts.search.parallel > 1 or facts.finder.worktrees.has_layers:
        await _leave_worktrees(ctx, facts)
        return None
    lost = await _note_what_was_lost(ctx, facts)
    since = min(flight.seq for flight in facts.finder.interrupted_flights)
    chosen: list[RecordedChange] = [landed for landed in facts.changes.standing if landed.seq > since]
    lost.update(path for landed in chosen if landed.command is not None for path in landed.files)
    if lost:
        return WorkResult(handoff=why_undecided(sorted(lost)))
    if not chosen:
        return None
    undone = await revert_changes(
        UndoContext(ctx.journal, facts, ctx.workspace, ctx.snapshots, ctx.events.record), chosen, by="program"
    )
    ctx.events.record(undone)
    ctx.files.mark_changed()
    return WorkResult(handoff=why_undecided(undone.kept)) if undone.kept else None


async def _leave_worktrees(ctx: RunContext, facts: RunFacts) -> None:
    """Finish the merges that were begun, and remove the worktrees. Items that were not merged are worked again."""
    steps = {work: number for number, work in facts.open_steps.items() if has_own_tree(work)}
    work = next(iter(steps), None)
    record = ctx.events.bound(steps.get(work), work)
    for call_id, proposal in list(facts.requests.approved.items()):
        record(ToolFinished(call_id=call_id, tool=proposal.tool, ok=False, result=_IN_WORKTREE, summary="unknown"))
    await finish_merges(ctx)
    await _keep_patches(ctx, facts)
    await remove_all(ctx)


async def _keep_patches(ctx: RunContext, facts: RunFacts) -> None:
    """Keep what unfinished items changed in their layers as patches, and remove the layers."""
    assert facts.finder is not None  # the caller checked it
    for left in list(facts.finder.worktrees.left):
        patch, _, why = await keep_left(ctx, Path(left.place))
        ctx.events.record(WorktreeFinished(tree=left.tree, key=left.key, why=why, patch=patch), work=work_of(left.key))


async def _note_what_was_lost(ctx: RunContext, facts: RunFacts) -> set[str]:
    """Record a result for each approved action that has none, and the file that a tool wrote.

    Returns the files that differ since a command without a result began, and that no tool wrote.
    """
    lost = set[str]()
    steps = {work: number for number, work in facts.open_steps.items()}
    broken_off = [flight.work for flight in facts.finder.interrupted_flights] if facts.finder is not None else []
    for call_id, proposal in list(facts.requests.approved.items()):
        work = next((work for work in broken_off if work in steps), None)
        record = ctx.events.bound(steps.get(work), work)
        if proposal.path is not None:
            _note_write(ctx.journal, ctx.facts, ctx.workspace, proposal, record)
        elif before := facts.changes.world_before(call_id):
            lost.update(await _changed_since(ctx, before))
        record(ToolFinished(call_id=call_id, tool=proposal.tool, ok=False, result=_LOST, summary="unknown"))
    return lost


async def _changed_since(ctx: RunContext, before: str) -> list[str]:
    """Return the files that differ from a snapshot, except those that a tool of the run left as they are."""
    after = await ctx.snapshots.take()
    try:
        changes = await ctx.snapshots.changes(before, after) if before and after else []
    except SnapshotDamaged as error:
        return [str(error)]
    known = ctx.facts.changes.files
    return [one.path for one in changes if one.path not in known or known[one.path][1] != _blob(ctx.journal, one)]


def _blob(journal: Journal, change: Change) -> str | None:
    return None if change.after is None else journal.keep(change.after)


def _note_write(
    journal: Journal, facts: RunFacts, workspace: Workspace, proposal: ProposalOpened, record: Record
) -> None:
    """Record the change of a file if its content shows that it was written."""
    path = proposal.path or ""
    target = workspace.root / path
    data = target.read_bytes() if target.is_file() else None
    known = facts.changes.files.get(path)
    if proposal.after is None or data is None or data != journal.blob(proposal.after):
        return
    if known is None or known[1] != proposal.after:
        record(
            FileChanged(
                path=path,
                by="model",
                before=proposal.before,
                after=proposal.after,
                added=proposal.added,
                removed=proposal.removed,
            )
        )
