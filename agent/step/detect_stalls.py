"""Pass each step to the stall detectors and record what they find."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..budget.stall.argument_paths import normalise_call
from ..budget.stall.observation import Call, Observation
from ..protocol import StallDetected
from ..protocol.tools.traits import TOOL_TRAITS
from ..state.common.handoff_facts import ESCALATE

if TYPE_CHECKING:
    from ..protocol import StallEnd, ToolCall
    from ..state.facts.run_facts import RunFacts
    from ..state.recorder import Events
    from ..tools.parse import Parsed
    from ..tools.tool_result import ToolResult
    from .model_call.stream import Reply
    from .resources.run_context import RunContext
    from .tool_calls.call_results import CallResults


def detect_stalls(
    ctx: RunContext, reply: Reply, outcome: CallResults, events: Events, *, work: str | None
) -> StallDetected | None:
    """Run the detectors and record a stall (docs/requirements.md 4.5).

    The first detection leads to a hint, the second one to what the user chose.
    """
    if outcome.has_waited:
        ctx.stalls.forget(work)
    finding = ctx.stalls.of(work).observe(
        Observation(
            calls=[_observed(one, outcome, str(ctx.workspace.seen)) for one in outcome.results],
            text=reply.text,
            world=ctx.facts.world,
            score=_failing(ctx.facts),
            at=ctx.clock.monotonic() - ctx.activity.awaited,
            step=ctx.facts.step,
        ),
        ctx.facts.spec.stalls,
    )
    if finding is None:
        return None
    response = "hint" if finding.response == "hint" else stall_end(ctx)
    stall = StallDetected(kind=finding.kind, signature=finding.signature, response=response)
    events.record(stall)
    return stall


def stall_end(ctx: RunContext) -> StallEnd:
    """Return what a repeated stall leads to now.

    A stronger model once, if one is set, or one new start; then what the user chose. A try stops.
    """
    spec, facts = ctx.journal.spec, ctx.facts
    if ctx.work is not None:
        return "stop"
    if spec.escalate is not None and spec.finder is None and not facts.handoffs.escalated:
        return ESCALATE
    if ctx.on_stall is None and spec.escalate is None and facts.may_start_over:
        return "restart"
    return ctx.on_stall or ("handoff" if ctx.journal.views.is_attended() else "stop")


def _observed(one: tuple[ToolCall, Parsed, ToolResult], outcome: CallResults, root: str) -> Call:
    call, parsed, result = one
    effect = TOOL_TRAITS[call.tool].effect if call.tool in TOOL_TRAITS else None
    arguments, text = normalise_call(parsed.raw if parsed.error is None else call.arguments, result.text, root)
    return Call(
        action=call.tool,
        arguments=arguments,
        result=text,
        ok=result.ok,
        refused=call.call_id in outcome.rejected,
        is_note=effect == "plan",
        poll=effect == "wait" and result.ok,
    )


def _failing(facts: RunFacts) -> float | None:
    """Return the failing tests of all checks that count them; None if no check ran in this step."""
    if facts.verdicts.checked_seq <= facts.step_seq:
        return None
    counts = [check.failing for check in facts.verdicts.checks.values() if check.failing is not None]
    return float(sum(counts)) if counts else None
