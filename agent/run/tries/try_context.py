"""Make the `RunContext` of a unit of work, with tools, gate and guard of its own, and the journal of the run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...step.checks.guarded import Guarded
from ...step.resources.change_tracker import ChangeTracker, Fingerprint
from ...step.resources.prompt_limits import PromptLimits
from ...step.resources.run_world import RunWorld
from ...step.resources.stall_watches import StallWatches
from ...step.resources.tree import Tree
from ...step.tool_calls.background import Background
from ..setup.tree_tools import guard_in_unit, guard_of, text_edits, tool_context

if TYPE_CHECKING:
    from ...facts.tries import TryFacts
    from ...step.resources.context import RunContext
    from ...step.resources.recorder import Recorder
    from ..setup.unit_folder import WorkFolder


async def context_in(ctx: RunContext, folder: WorkFolder, facts: TryFacts, work: str, who: str) -> RunContext:
    """Return the context for work in a unit. `who`: its name for people."""
    workspace = folder.workspace
    deciding = guard_of(facts.spec, workspace.root, ctx.env)
    guard = guard_in_unit(ctx, deciding)
    tree = Tree(
        workspace=workspace,
        sandbox=folder.sandbox,
        env=ctx.env,
        guard=guard,
        deciding=deciding,
        gate=ctx.gate.for_worktree(workspace, guard.matches, who, reviews_result=facts.spec.tries is not None),
        files=ChangeTracker(),
        is_own=True,
        unit=folder.unit,
    )
    guarded = Guarded(tree, ctx.journal, facts, ctx.activity)
    events = ctx.events.for_try(facts, work, [guarded.on_event])
    made = _with_tree(ctx, tree, facts, guarded, events, work)
    ctx.events.follow(facts.apply_run_event)
    await guarded.start()
    return made


async def drop_context(ctx: RunContext, made: RunContext, facts: TryFacts) -> None:
    """End the background processes of a try or an item, and detach its context from the run."""
    await made.background.end_all("its work ended")
    ctx.gate.forget(made.gate)
    ctx.events.unfollow(facts.apply_run_event)


def _with_tree(
    ctx: RunContext, tree: Tree, facts: TryFacts, guarded: Guarded, events: Recorder, work: str
) -> RunContext:
    """Return a copy of the run's context for the tree of a try."""
    usage = ctx.usage.for_try(facts)
    background = Background(
        tree,
        ctx.journal,
        ctx.clock,
        read_only=guarded.read_only,
        record=events.record,
        send=events.record,
    )
    tools = tool_context(tree, ctx.journal, facts, ctx.models, guarded, background, usage)
    return replace(
        ctx,
        facts=facts,
        events=events,
        usage=usage,
        gate=tree.gate,
        workspace=tree.workspace,
        files=tree.files,
        fingerprint=Fingerprint(facts, RunWorld(ctx.journal, facts, tree.workspace), tree.files),
        sandbox=tree.sandbox,
        tools=tools,
        guard=tree.guard,
        deciding=tree.deciding,
        guarded=guarded,
        background=background,
        stalls=StallWatches(facts),
        prompts=PromptLimits(),
        stall_ends=lambda: "stop",
        layers=None,
        units=None,
        unit=tree.unit,
        commits=None,
        hooks=None,
        edits=text_edits(tree, ctx.journal, facts, tools),
        work=work,
    )
