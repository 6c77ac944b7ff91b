"""Make the `RunContext` of a unit of work, with tools and gate of its own, and the journal of the run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...step.resources.change_tracker import ChangeTracker, Fingerprint
from ...step.resources.prompt_limits import PromptLimits
from ...step.resources.run_world import RunWorld
from ...step.resources.stall_watches import StallWatches
from ...step.resources.tree import Tree
from ...step.tool_calls.background import Background
from ..setup.tree_tools import text_edits, tool_context

if TYPE_CHECKING:
    from ...facts.tries import TryFacts
    from ...step.resources.context import RunContext
    from ...step.resources.recorder import Recorder
    from ..setup.unit_folder import WorkFolder


def context_in(ctx: RunContext, folder: WorkFolder, facts: TryFacts, work: str, who: str) -> RunContext:
    """Return the context for work in a unit. `who`: its name for people."""
    workspace = folder.workspace
    tree = Tree(
        workspace=workspace,
        sandbox=folder.sandbox,
        env=ctx.env,
        guard=ctx.guard,
        gate=ctx.gate.for_worktree(workspace, ctx.guard.matches, who, reviews_result=facts.spec.tries is not None),
        files=ChangeTracker(),
        unit=folder.unit,
    )
    events = ctx.events.for_try(facts, work)
    made = _with_tree(ctx, tree, facts, events, work)
    ctx.events.follow(facts.apply_run_event)
    return made


async def drop_context(ctx: RunContext, made: RunContext, facts: TryFacts) -> None:
    """End the background processes of a try or an item, and detach its context from the run."""
    await made.background.end_all("its work ended")
    ctx.gate.forget(made.gate)
    ctx.events.unfollow(facts.apply_run_event)


def _with_tree(ctx: RunContext, tree: Tree, facts: TryFacts, events: Recorder, work: str) -> RunContext:
    """Return a copy of the run's context for the tree of a try."""
    usage = ctx.usage.for_try(facts)
    background = Background(
        tree,
        ctx.journal,
        ctx.clock,
        record=events.record,
        send=events.record,
    )
    tools = tool_context(tree, ctx.journal, facts, ctx.models, background, usage)
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
