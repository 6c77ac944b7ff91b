"""Roll back the items that an earlier runner left unfinished: restore their files, and record what happened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol import FileChanged, ProposalOpened, Record, ToolFinished, Undone, has_own_tree
from ...step.tool_calls.command_changes import record_lost_command
from ..commands.undo import UndoContext, revert_changes
from ..item_trees.write_merge import finish_merges
from ..tries.worktrees import remove_all

if TYPE_CHECKING:
    from ...facts.facts import RunFacts
    from ...facts.logs.change_log import RecordedChange
    from ...journal.journal import Journal
    from ...step.resources.context import RunContext
    from ...workspace.paths import Workspace
    from ..live.live_run import LiveRun

_IN_WORKTREE = "unknown: the program stopped during this action; the item is worked again in a new worktree"
_LOST = "unknown: the program stopped during this action; the file of the item was restored"


async def roll_back_items(run: LiveRun) -> Undone | None:
    """Restore the files of unfinished items, and return the event; None: no files were changed.

    A file that someone else changed since is kept and reported. Call this before other work of the earlier runner is
    closed. After a kill it can be repeated.
    """
    ctx, facts = run.ctx, run.facts
    if facts.finder is None or not facts.may_change_files or not facts.finder.interrupted_flights:
        return None
    if facts.search.parallel > 1:
        await _leave_worktrees(ctx, facts)
        return None
    await _note_what_was_lost(ctx, facts)
    since = min(flight.seq for flight in facts.finder.interrupted_flights)
    chosen: list[RecordedChange] = [landed for landed in facts.changes.standing if landed.seq > since]
    if not chosen:
        return None
    undone = await revert_changes(
        UndoContext(ctx.journal, facts, ctx.workspace, ctx.snapshots, ctx.events.record), chosen, by="program"
    )
    ctx.events.record(undone)
    ctx.files.mark_changed()
    return undone


async def _leave_worktrees(ctx: RunContext, facts: RunFacts) -> None:
    """Finish the merges that were begun, and remove the worktrees. Items that were not merged are worked again."""
    steps = {work: number for number, work in facts.open_steps.items() if has_own_tree(work)}
    work = next(iter(steps), None)
    record = ctx.events.bound(steps.get(work), work)
    for call_id, proposal in list(facts.requests.approved.items()):
        record(ToolFinished(call_id=call_id, tool=proposal.tool, ok=False, result=_IN_WORKTREE, summary="unknown"))
    await finish_merges(ctx)
    await remove_all(ctx)


async def _note_what_was_lost(ctx: RunContext, facts: RunFacts) -> None:
    """Record a result for each approved action that has none, and the changes that it made."""
    steps = {work: number for number, work in facts.open_steps.items()}
    broken_off = [flight.work for flight in facts.finder.interrupted_flights] if facts.finder is not None else []
    for call_id, proposal in list(facts.requests.approved.items()):
        work = next((work for work in broken_off if work in steps), None)
        record = ctx.events.bound(steps.get(work), work)
        if proposal.path is not None:
            _note_write(ctx.journal, ctx.facts, ctx.workspace, proposal, record)
        elif before := facts.changes.world_before(call_id):
            await record_lost_command(ctx, before, record)
        record(ToolFinished(call_id=call_id, tool=proposal.tool, ok=False, result=_LOST, summary="unknown"))


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
