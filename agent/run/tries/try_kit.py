"""The kit of a worktree: its own tools, gate and guard; journal, budget and interruption of the run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from ...facts.tries import TryFacts
from ...protocol import PassStarted
from ...step import Kit
from ...step.checks.guarded import Guarded
from ...step.resources.file_state import FileState, World
from ...step.resources.prompt_limits import PromptLimits
from ...step.resources.recorder import Recorder
from ...step.resources.stall_watches import StallWatches
from ...step.resources.tree import Tree
from ...step.tool_calls.background import Background
from ...workspace import Sandbox, Snapshots, Workspace
from ..setup.tree_tools import constrained_edits, guard_of, tool_context


@dataclass(frozen=True, slots=True)
class WorkFolder:
    """A worktree of a run, with what belongs to it as long as it exists."""

    workspace: Workspace
    sandbox: Sandbox
    snapshots: Snapshots


def work_folder(kit: Kit, root: Path) -> WorkFolder:
    """Return the worktree whose workspace is this folder. `kit`: the run's."""
    workspace = Workspace(root, private=kit.workspace.private, leftovers=kit.workspace.leftovers)
    store = kit.journal.path.with_suffix(".snapshots")
    return WorkFolder(workspace, kit.sandbox.apart(), Snapshots(workspace, store))


async def kit_of_try(kit: Kit, root: Path, work: str, who: str, started: PassStarted) -> tuple[Kit, TryFacts]:
    """Return the kit and its facts. `root`: its workspace. `who`: its name for the user. `started`: its pass."""
    facts = TryFacts(kit.facts, started, str(root))
    return await kit_in(kit, work_folder(kit, root), facts, work, who), facts


async def kit_in(kit: Kit, folder: WorkFolder, facts: TryFacts, work: str, who: str) -> Kit:
    """Return the kit for a work in a worktree."""
    workspace = folder.workspace
    guard = guard_of(facts.spec, workspace.root, kit.env)
    tree = Tree(
        workspace=workspace,
        sandbox=folder.sandbox,
        env=kit.env,
        guard=guard,
        gate=kit.gate.for_worktree(workspace, guard.matches, who),
        files=FileState(),
    )
    guarded = Guarded(tree, kit.journal, facts, kit.activity)
    events = kit.events.for_try(facts, work, [guarded.on_event])
    made = _with_tree(kit, tree, folder.snapshots, facts, guarded, events, work)
    kit.events.follow(facts.hear)
    await guarded.start()
    return made


async def drop_kit(kit: Kit, made: Kit, facts: TryFacts) -> None:
    """End what the try, or the item, started."""
    await made.background.end_all("its work ended")
    kit.gate.forget(made.gate)
    kit.events.unfollow(facts.hear)


def _with_tree(
    kit: Kit, tree: Tree, snapshots: Snapshots, facts: TryFacts, guarded: Guarded, events: Recorder, work: str
) -> Kit:
    """Return the run's kit with the tree of a try."""
    usage = kit.usage.for_try(facts)
    background = Background(
        tree,
        snapshots,
        kit.journal,
        kit.clock,
        read_only=guarded.read_only,
        record=events.record,
        send=events.record,
    )
    tools = tool_context(tree, kit.journal, facts, kit.models, guarded, background, usage)
    return replace(
        kit,
        facts=facts,
        events=events,
        usage=usage,
        gate=tree.gate,
        workspace=tree.workspace,
        snapshots=snapshots,
        files=tree.files,
        world=World(facts, snapshots, tree.files),
        sandbox=tree.sandbox,
        tools=tools,
        guard=tree.guard,
        guarded=guarded,
        background=background,
        stalls=StallWatches(facts),
        prompts=PromptLimits(),
        stall_ends=lambda: "stop",
        commits=None,
        hooks=None,
        constrained=constrained_edits(tree, facts, tools),
        work=work,
    )
