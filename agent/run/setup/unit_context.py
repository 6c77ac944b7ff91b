"""Make the context in which a run works in a unit of work: its own, with the files of the unit as the workspace."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...step.resources.change_tracker import ChangeTracker, Fingerprint
from ...step.resources.run_world import RunWorld
from ...step.resources.tree import Tree
from ...step.tool_calls.background import Background
from .tree_tools import text_edits
from .unit_folder import unit_folder

if TYPE_CHECKING:
    from ...layers.unit import Unit
    from ...step.resources.context import RunContext


def context_in_unit(run: RunContext, unit: Unit) -> RunContext:
    """Return the context of the run in a unit. Journal, conversation, budget and outputs are those of the run."""
    folder, facts, events = unit_folder(run, unit), run.facts, run.events
    workspace = folder.workspace
    tree = Tree(
        workspace=workspace,
        sandbox=folder.sandbox,
        env=run.env,
        guard=run.guard,
        gate=run.gate.for_worktree(workspace, run.guard.matches, ""),
        files=ChangeTracker(),
        unit=unit,
    )
    background = Background(
        tree,
        run.journal,
        run.clock,
        record=events.record,
        send=events.record,
    )
    tools = replace(
        run.tools,
        workspace=workspace,
        sandbox=tree.sandbox,
        rules=tree.gate.policy.rules,
        background=background.names,
        live_output=background.output,
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
