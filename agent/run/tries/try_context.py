"""Make the `RunContext` of a worktree, with its own tools, gate and guard, and the journal and budget of the run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...facts.tries import TryFacts
from ...step.checks.guarded import Guarded
from ...step.resources.change_tracker import ChangeTracker, Fingerprint
from ...step.resources.prompt_limits import PromptLimits
from ...step.resources.stall_watches import StallWatches
from ...step.resources.tree import Tree
from ...step.tool_calls.background import Background
from ...workspace.paths import Workspace
from ...workspace.snapshots.snapshots import Snapshots
from ..setup.tree_tools import guard_of, text_edits, tool_context

if TYPE_CHECKING:
    from ...layers.unit import Unit
    from ...protocol import PassStarted
    from ...step.resources.context import RunContext
    from ...step.resources.recorder import Recorder
    from ...workspace.sandbox.sandbox import Sandbox


@dataclass(frozen=True, slots=True)
class WorkFolder:
    """A worktree of a run or the view of a unit of work, with its sandbox and its snapshots."""

    workspace: Workspace
    sandbox: Sandbox
    snapshots: Snapshots
    unit: Unit | None = None
    """The unit of work whose view it is."""


def work_folder(ctx: RunContext, root: Path) -> WorkFolder:
    """Return the worktree whose workspace is this folder. `ctx`: the run's."""
    run = ctx.workspace
    workspace = Workspace(root, run.private, run.leftovers, run.hook_scripts, run.hide_rules)
    store = ctx.journal.path.with_suffix(".snapshots")
    return WorkFolder(workspace, ctx.sandbox.separate_copy(), Snapshots(workspace, store))


def unit_folder(ctx: RunContext, unit: Unit) -> WorkFolder:
    """Return the view of a unit of work over the workspace. `ctx`: the run's."""
    run = ctx.workspace
    workspace = Workspace(unit.root, run.private, None, run.hook_scripts, run.hide_rules, seen=unit.outside(unit.root))
    store = ctx.journal.path.with_suffix(".snapshots")
    return WorkFolder(workspace, ctx.sandbox.in_unit(unit), Snapshots(workspace, store), unit)


async def context_of_try(
    ctx: RunContext, root: Path, work: str, who: str, started: PassStarted
) -> tuple[RunContext, TryFacts]:
    """Return the context of a try and its facts. `root`: its workspace. `who`: its name for people."""
    facts = TryFacts(ctx.facts, started, str(root))
    return await context_in(ctx, work_folder(ctx, root), facts, work, who), facts


async def context_in(ctx: RunContext, folder: WorkFolder, facts: TryFacts, work: str, who: str) -> RunContext:
    """Return the context for work in a worktree."""
    workspace = folder.workspace
    guard = guard_of(facts.spec, workspace.root, ctx.env)
    tree = Tree(
        workspace=workspace,
        sandbox=folder.sandbox,
        env=ctx.env,
        guard=guard,
        gate=ctx.gate.for_worktree(workspace, guard.matches, who, reviews_result=facts.spec.tries is not None),
        files=ChangeTracker(),
        is_own=True,
        unit=folder.unit,
    )
    guarded = Guarded(tree, ctx.journal, facts, ctx.activity)
    events = ctx.events.for_try(facts, work, [guarded.on_event])
    made = _with_tree(ctx, tree, folder.snapshots, facts, guarded, events, work)
    ctx.events.follow(facts.apply_run_event)
    await guarded.start()
    return made


async def drop_context(ctx: RunContext, made: RunContext, facts: TryFacts) -> None:
    """End the background processes of a try or an item, and detach its context from the run."""
    await made.background.end_all("its work ended")
    ctx.gate.forget(made.gate)
    ctx.events.unfollow(facts.apply_run_event)


def _with_tree(
    ctx: RunContext, tree: Tree, snapshots: Snapshots, facts: TryFacts, guarded: Guarded, events: Recorder, work: str
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
        snapshots=snapshots,
        files=tree.files,
        fingerprint=Fingerprint(facts, snapshots, tree.files),
        sandbox=tree.sandbox,
        tools=tools,
        guard=tree.guard,
        guarded=guarded,
        background=background,
        stalls=StallWatches(facts),
        prompts=PromptLimits(),
        stall_ends=lambda: "stop",
        layers=tree.layers,
        unit=tree.unit,
        commits=None,
        hooks=None,
        edits=text_edits(tree, ctx.journal, facts, tools),
        work=work,
    )
