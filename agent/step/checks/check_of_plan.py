"""Run the check of a proposed plan before a person decides: one that passes already decides nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ...gate.draft import CommandDraft
from ...protocol import CheckStarted, GateMode
from ...verdict.checks.check_environment import prepared_environment
from ...verdict.checks.run_check import run_check
from .verify import check_finished

if TYPE_CHECKING:
    from ...gate.draft import PlanDraft
    from ...state.recorder import Events
    from ..resources.run_context import RunContext

_SECONDS = 10.0
"""Time limit of each command: a person waits for the plan."""
_CONFINED = ("bubblewrap", "landlock")
_READ_ONLY = "the workspace was read-only for it"


async def with_check_run(ctx: RunContext, draft: PlanDraft, events: Events) -> PlanDraft:
    """Return the draft, marked if what decides passes already. Raises PersonInterrupted.

    The workspace is read-only, so only a pass counts. A check that the model names runs only if the gate of the run
    that follows would start it without asking. Where it may begin in `ask`, because nobody chose the mode, only rules
    start it.
    """
    then = ctx.facts.spec.then
    if then is None or ctx.sandbox.kind not in _CONFINED:
        return draft
    given = then.predicates
    if not given.exist and draft.plan.check is not None:
        line = CommandDraft(tool="run_command", command=draft.plan.check, timeout=_SECONDS, cwd=ctx.workspace.seen)
        mode = GateMode.ASK if then.gate.falls_back else then.gate.mode
        commands = [draft.plan.check] if ctx.gate.starts_alone(line, mode) else []
    else:
        others = [*given.until_py, *given.until_file, *given.require, *([given.schema] if given.schema else [])]
        commands = given.until if given.any or not others else []
    passed = [await _passes(ctx, command, events) for command in commands]
    is_met = any(passed) if given.any else bool(passed) and all(passed)
    return msgspec.structs.replace(draft, passes=True) if is_met else draft


async def _passes(ctx: RunContext, command: str, events: Events) -> bool:
    events.record(CheckStarted(command=command))
    with prepared_environment(ctx.sandbox.for_checks(), ctx.env) as environment, ctx.limits.running():
        checking = run_check(
            command,
            ctx.workspace,
            env=environment.env,
            timeout=_SECONDS,
            sandbox=environment.sandbox,
            access=msgspec.structs.replace(environment.access, keeps_workspace=True),
        )
        result = await ctx.activity.interruptible(checking)
    finished = check_finished(ctx, result, None if result.passed else _READ_ONLY, compared=True)
    events.record(finished)
    return finished.passed
