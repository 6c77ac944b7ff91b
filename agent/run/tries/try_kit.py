"""The kit of a try: tools, gate and guard for its own worktree; journal, budget and interruption of the run."""

from __future__ import annotations

from pathlib import Path

from ...facts.tries import TryFacts
from ...protocol import CONSTRAINED, PassStarted
from ...step import Kit
from ...step.constrained import Constrained
from ...workspace import Snapshots, Workspace
from ..setup.tree_tools import guard_of, tool_context


async def kit_of_try(kit: Kit, root: Path, work: str, who: str, started: PassStarted) -> tuple[Kit, TryFacts]:
    """Return the kit and its facts. `root`: its workspace. `who`: its name for the user. `started`: its pass."""
    facts = TryFacts(kit.facts, started, str(root))
    journal = kit.journal
    workspace = Workspace(root, private=kit.workspace.private, leftovers=kit.workspace.leftovers)
    sandbox = kit.sandbox.apart()
    guard = guard_of(facts.spec, root, kit.env)
    made = Kit(
        journal=journal,
        facts=facts,
        clock=kit.clock,
        run_model=kit.run_model,
        gate=kit.gate.beside(workspace, guard.matches, who),
        workspace=workspace,
        snapshots=Snapshots(workspace, journal.path.with_suffix(".snapshots")),
        sandbox=sandbox,
        tools=tool_context(journal, workspace, kit.env, sandbox, kit.run_model, kit.gate.rules),
        guard=guard,
        quotas=kit.quotas,
        env=kit.env,
        watched=kit.watched,
        stall_ends=lambda: "stop",
        on_event=kit.on_event,
        before_acting=kit.before_acting,
        motion=kit.shared,
        headless=kit.headless,
        work=work,
    )
    if facts.spec.edit_format == CONSTRAINED:
        made.constrained = Constrained(workspace, facts, guard, made.tools.kept_from)
    made.tools.seconds_left = made.seconds_for_work
    made.tools.command_seconds = lambda: facts.spec.command_timeout
    kit.beside.append(made)
    await made.guarded.start()
    return made, facts


async def drop_kit(kit: Kit, made: Kit) -> None:
    """End what the try started."""
    await made.background.end_all("the try ended")
    kit.gate.forget(made.gate)
    kit.beside.remove(made)
