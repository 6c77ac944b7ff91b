"""Ask the person a question of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol import QuestionAnswered, QuestionAsked, Record, ToolCall, Waiting
from ...tools.result import ToolResult

if TYPE_CHECKING:
    from ...gate.gate import Gate
    from ...tools.parse import Parsed
    from ..resources.context import RunContext
    from .call_results import CallResults

NOBODY_HERE = "Nobody is there to answer. Decide yourself, and say what you assumed."
HANDED_OVER = "Nobody is there to answer now: the run is handed over, and the answer will come as a message."


async def ask_person(
    ctx: RunContext, call: ToolCall, parsed: Parsed, record: Record, outcome: CallResults
) -> ToolResult:
    """Wait for the person's answer. If nobody is there, the run is handed off or the model decides."""
    question, name = ctx.tools.question(parsed.arguments), call.call_id
    if name in ctx.facts.requests.answers:
        return ToolResult(ok=True, text=ctx.facts.requests.answers[name], summary="answered")
    if not ctx.watched():
        return _nobody_answers(ctx.gate, question.question, outcome)
    record(QuestionAsked(question_id=name, question=question.question, options=question.options))
    record(Waiting(why="question"))
    asked = ctx.facts.requests.questions
    await ctx.activity.interruptible(
        ctx.activity.until(lambda: name not in asked or (ctx.headless and not ctx.watched()))
    )
    if name in asked:
        result = _nobody_answers(ctx.gate, question.question, outcome)
        record(QuestionAnswered(question_id=name, text=result.text, by="program"))
        return result
    return ToolResult(ok=True, text=ctx.facts.requests.answers[name], summary="answered")


def _nobody_answers(gate: Gate, question: str, outcome: CallResults) -> ToolResult:
    if gate.policy.on_ask == "refuse":
        return ToolResult(ok=True, text=NOBODY_HERE, summary="nobody there")
    outcome.handoff = f"the model asks: {question}"
    return ToolResult(ok=False, text=HANDED_OVER, summary="nobody there")
