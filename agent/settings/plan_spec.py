"""The run that makes a plan, and the run that carries it out: each spec from the other."""

from __future__ import annotations

import msgspec

from ..protocol import (
    BY_TOOLS,
    Budget,
    GateMode,
    LoopKind,
    PlanAccepted,
    Predicates,
    RunSpec,
    Spent,
    UserError,
    edit_format_problem,
)
from ..protocol.text.plan_text import FOLLOW_PLAN, Plan, plan_text
from ..protocol.tools.traits import TOOL_TRAITS

_OPENING = f"{{task}}\n\n{FOLLOW_PLAN}\n\n{{plan}}"


def spec_of_planning(then: RunSpec) -> RunSpec:
    """Return the spec of the run that makes the plan for another one, a chat or a goal run. Raises UserError.

    It has the model, the limits and the instructions of that run, and nothing with which it could change a file. The
    other spec has no task: the journal hides keys only in that of the run itself.
    """
    if then.loop not in (LoopKind.CHAT, LoopKind.GOAL):
        raise UserError(f"--plan: {then.loop.a_run} is not planned; leave --plan out, or plan a chat or a goal run")
    quotas = {tool: rate for tool, rate in then.gate.quotas.items() if tool in TOOL_TRAITS}
    return msgspec.structs.replace(
        then,
        loop=LoopKind.PLAN,
        then=msgspec.structs.replace(then, task=""),
        predicates=Predicates(timeout=then.predicates.timeout),
        gate=msgspec.structs.replace(then.gate, mode=GateMode.READ, falls_back=False, quotas=quotas),
        mcp=[],
        tries=None,
        commit=False,
        commit_hooks=False,
        stage_patch=None,
        restarts=None,
        answers_in_text=False,
        edit_format=BY_TOOLS,
    )


def spec_of_plan(planning: RunSpec, accepted: PlanAccepted, budget: Budget, spent: Spent) -> RunSpec:
    """Return the spec of the run that carries out the accepted plan.

    `budget`: the present limits of the run that made it, of which it `spent` something. A goal run gets what is left.
    The limits of a chat are for each message, so they stay.
    """
    then = planning.then
    assert then is not None  # it made a plan
    if then.predicates.exist or accepted.check is not None:
        found = then.predicates.until if accepted.check is None or then.predicates.exist else [accepted.check]
        then = msgspec.structs.replace(
            then,
            loop=LoopKind.GOAL,
            predicates=msgspec.structs.replace(then.predicates, until=found),
            budget=_left(budget, spent),
        )
    else:
        then = _as_chat(then)
    text = plan_text(Plan(accepted.lines, accepted.check), has_check=accepted.check is not None)
    return msgspec.structs.replace(
        then,
        run_id=accepted.run_id,
        skills=planning.skills,
        task=planning.task,
        first_message=_OPENING.format(task=planning.task, plan=text.rstrip()),
        images=planning.images,
        plan=accepted.lines,
        plan_of=planning.run_id,
    )


def _as_chat(then: RunSpec) -> RunSpec:
    """Return the spec as that of a chat: nothing decides, so nothing selects a try or is confirmed."""
    kept = Predicates(scope=then.predicates.scope, guard=then.predicates.guard, timeout=then.predicates.timeout)
    chat = msgspec.structs.replace(then, loop=LoopKind.CHAT, predicates=kept, tries=None)
    fits = edit_format_problem(chat, then.edit_format) is None
    return chat if fits else msgspec.structs.replace(chat, edit_format=BY_TOOLS)


def _left(budget: Budget, spent: Spent) -> Budget:
    steps, tokens, usd, seconds = spent.figures
    return msgspec.structs.replace(
        budget,
        steps=None if budget.steps is None else max(0, budget.steps - steps),
        tokens=None if budget.tokens is None else max(0, budget.tokens - tokens),
        usd=None if budget.usd is None else max(0.0, budget.usd - usd),
        seconds=None if budget.seconds is None else max(0.0, budget.seconds - seconds),
    )
