"""Make the context in which a run, a try or an item works in a unit of work, whose files are its workspace."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...host.workspace_paths import Workspace
from ...step.resources.change_tracker import ChangeTracker, Fingerprint
from ...step.resources.prompt_limits import PromptLimits
from ...step.resources.run_tree_files import Tree
from ...step.resources.run_world import RunWorld
from ...step.resources.stall_watches import StallWatches
from ...step.tool_calls.background import Background
from .tree_tools import text_edits, tool_context

if TYPE_CHECKING:
    from ...layers.unit import Unit
    from ...sandbox.sandbox import Sandbox
    from ...state.facts.try_facts import TryFacts
    from ...state.recorder import Recorder
    from ...step.resources.run_context import RunContext


def context_in_unit(run: RunContext, unit: Unit) -> RunContext:
    """Return the context of the run in a unit. Journal, conversation, budget and outputs are those of the run."""
    folder, facts, events = unit_folder(run, unit), run.facts, run.events
    workspace = folder.workspace
    tree = Tree(
        workspace=workspace,
        sandbox=folder.sandbox,
        env=run.env,
        guard=run.guard,
        gate=run.gate.for_worktree(workspace, run.guard, ""),
        files=ChangeTracker(),
        unit=unit,
    )
    background = Background(tree, run.journal, run.clock, events=events)
    tools = replace(
        run.tools,
        workspace=workspace,
        sandbox=tree.sandbox,
        rules=tree.gate.policy.rules,
        background=background,
    )
    return replace(
        run,
        gate=tree.gate,
        workspace=workspace,
        files=tree.files,
        fingerprint=Fingerprint(facts, RunWorld(run.journal, facts, workspace), tree.files),
        sandbox=tree.sandbox,
        tools=tools,
        background=background,
        layers=None,
        units=None,
        unit=unit,
        commits=None,
        hooks=None,
        edits=text_edits(tree, run.journal, facts, tools),
    )


async def leave_context(run: RunContext, made: RunContext, why: str) -> None:
    """End the background commands of a context in a unit, and detach it from the run. `why`: for people."""
    await made.background.end_all(why)
    run.gate.forget(made.gate)


def context_of_try(ctx: RunContext, folder: WorkFolder, facts: TryFacts, work: str, who: str) -> RunContext:
    """Return the context for a try or an item, with facts, tools and gate of its own. `who`: its name for people."""
    workspace = folder.workspace
    tree = Tree(
        workspace=workspace,
        sandbox=folder.sandbox,
        env=ctx.env,
        guard=ctx.guard,
        gate=ctx.gate.for_worktree(workspace, ctx.guard, who, reviews_result=facts.spec.tries is not None),
        files=ChangeTracker(),
        unit=folder.unit,
    )
    events = ctx.events.for_try(facts, work)
    made = _with_tree(ctx, tree, facts, events, work)
    ctx.events.follow(facts.apply_run_event)
    return made


async def drop_context_of_try(ctx: RunContext, made: RunContext, facts: TryFacts) -> None:
    """End the background processes of a try or an item, and detach its context from the run."""
    await made.background.end_all("its work ended")
    ctx.gate.forget(made.gate)
    ctx.events.unfollow(facts.apply_run_event)


def _with_tree(ctx: RunContext, tree: Tree, facts: TryFacts, events: Recorder, work: str) -> RunContext:
    """Return a copy of the run's context for the tree of a try."""
    limits = ctx.limits.for_try(facts)
    background = Background(tree, ctx.journal, ctx.clock, events=events)
    tools = tool_context(tree, ctx.journal, facts, ctx.models, background, limits)
    return replace(
        ctx,
        facts=facts,
        events=events,
        limits=limits,
        gate=tree.gate,
        workspace=tree.workspace,
        files=tree.files,
        fingerprint=Fingerprint(facts, RunWorld(ctx.journal, facts, tree.workspace), tree.files),
        sandbox=tree.sandbox,
        tools=tools,
        background=background,
        stalls=StallWatches(),
        prompts=PromptLimits(),
        layers=None,
        units=None,
        unit=tree.unit,
        commits=None,
        hooks=None,
        edits=text_edits(tree, ctx.journal, facts, tools),
        work=work,
    )


@dataclass(frozen=True, slots=True)
class WorkFolder:
    """The view of a unit of work, with its sandbox."""

    workspace: Workspace
    sandbox: Sandbox
    unit: Unit


def unit_folder(ctx: RunContext, unit: Unit) -> WorkFolder:
    """Return the view of a unit of work over the workspace. `ctx`: the run's."""
    run = ctx.workspace
    workspace = Workspace(unit.root, run.private, None, run.hook_scripts, run.hide_rules, seen=unit.outside(unit.root))
    return WorkFolder(workspace, ctx.sandbox.in_unit(unit), unit)
