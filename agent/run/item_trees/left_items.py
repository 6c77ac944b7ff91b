"""After a kill: finish the merges of items that were begun, and keep what other items changed as patches."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...facts.search.suspects import work_of
from ...protocol import ToolFinished, WorktreeFinished, has_own_tree
from ...step.tool_calls.apply_effects import finish_accepted
from ..passes.left_patch import keep_left
from .item_tree import ending_join

if TYPE_CHECKING:
    from ...step.resources.context import RunContext

_IN_ITEM = "unknown: the program stopped during this action; the item is worked again from the start"


async def finish_left_items(ctx: RunContext) -> None:
    """Finish the merges, and remove the units. Items that were not merged are worked again. `ctx`: the run's.

    The workspace is changed by merges alone that were begun. After a kill it can be repeated.
    """
    facts = ctx.facts
    if facts.finder is None or ctx.units is None:
        return
    steps = {work: number for number, work in facts.open_steps.items() if has_own_tree(work)}
    work = next(iter(steps), None)
    record = ctx.events.bound(steps.get(work), work)
    for call_id, proposal in list(facts.requests.approved.items()):
        record(ToolFinished(call_id=call_id, tool=proposal.tool, ok=False, result=_IN_ITEM, summary="unknown"))
    ends = {
        started.order: ending_join(ctx.events.bound(None, work_of(started.key)), started)
        for started in facts.finder.worktrees.joins.values()
    }
    await finish_accepted(ctx, ctx.units, ctx.events.bound(None, None), ends)
    for left in list(facts.finder.worktrees.left):
        patch, _, why = await keep_left(ctx, Path(left.place))
        ctx.events.record(WorktreeFinished(tree=left.tree, key=left.key, why=why, patch=patch), work=work_of(left.key))
