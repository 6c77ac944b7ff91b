"""Draft a plan that a person accepts before anything is edited."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..gate.draft import PlanDraft
from ..protocol.text.plan_text import Plan, plan_of
from .tool_result import ToolResult, failure

if TYPE_CHECKING:
    from .tool_arguments import ProposePlan
    from .tool_context import ToolContext


def draft_plan(args: ProposePlan, ctx: ToolContext) -> PlanDraft | ToolResult:
    """Return the plan for the gate. Where the person has set what decides, the model's check does not count."""
    plan = plan_of(args.steps, None if ctx.decides else args.check)
    if not isinstance(plan, Plan):
        return failure(plan, "no plan")
    if plan.check is not None and ctx.checks is not None and (problem := ctx.checks.problem_of(plan.check)):
        return failure(f"{problem}. Propose the plan again with a check that works.", "no check")
    return PlanDraft(tool="propose_plan", plan=plan, decides=ctx.decides, checks=ctx.checks)
