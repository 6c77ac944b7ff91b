"""Judge the result of a unit of work: a pass or a try, before anything of it is in the workspace (decision 0040)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...verdict.judge.judge import judge
from ..end.case_of_run import case_of, judged_unit

if TYPE_CHECKING:
    from ...layers.run_layers import Listed
    from ...protocol import Judged
    from ...step.resources.run_context import RunContext
    from ...verdict.judge.judge_case import Case
    from .one_try import Attempt
    from .pass_unit import PassUnit


def case_of_pass(opened: PassUnit, listed: Listed) -> Case:
    """Return the result of the open pass. `listed`: what it changed; nothing runs in it any more."""
    run = opened.run
    passing = run.facts.pass_facts
    assert passing is not None  # a pass is open
    return case_of(run, unit=judged_unit(run.facts, opened.unit.root, listed, passing.began))


def case_of_try(attempt: Attempt, listed: Listed) -> Case:
    """Return the result of a try. `listed`: what it changed; nothing runs in it any more."""
    run, changes = attempt.opened.run, attempt.facts.changes.standing[:]
    unit = judged_unit(run.facts, attempt.opened.unit.root, listed, attempt.began, changes)
    return replace(case_of(run, facts=attempt.facts, unit=unit), events=attempt.ctx.events.bound(None, None))


async def judge_unit(ctx: RunContext, case: Case) -> Judged:
    """Judge a result whose predicates hold, and record the judgement. Raises PersonInterrupted."""
    with ctx.limits.running():
        found = await ctx.activity.interruptible(judge(case))
    case.events.record(found)
    return found
