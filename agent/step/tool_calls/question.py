"""Ask the person a question of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol import QuestionAnswered, QuestionAsked, Record, ToolCall, Waiting
from ...tools.result import ToolResult

if TYPE_CHECKING:
    from ...facts.facts import RunFacts
    from ...tools.parse import Parsed
    from ..resources.context import RunContext
    from .call_results import CallResults

NOBODY_HERE = "Nobody is there to answer. Decide yourself, and say what you assumed."
DECIDE_ALONE = (
    "Nobody is there to answer. Decide yourself with what you know, and say what you assumed: "
    "the check decides whether the goal is met. Another question ends the run."
)
_NOBODY = "nobody there"
HANDED_OVER = "Nobody is there to answer now: the run is handed over, and the answer will come as a message."


async def ask_person(
    ctx: RunContext, call: ToolCall, parsed: Parsed, record: Record, outcome: CallResults
) -> ToolResult:
    """Wait for the person's answer. If nobody is there, the run is handed off or the model decides.

    In a run with a check, the model decides the questions of one step before a later question hands the run off.
    """
    question, name = ctx.tools.question(parsed.arguments), call.call_id
    if name in ctx.facts.requests.answers:
        return ToolResult(ok=True, text=ctx.facts.requests.answers[name], summary="answered")
    if not ctx.watched():
        return _nobody_answers(ctx, question.question, outcome)
    record(QuestionAsked(question_id=name, question=question.question, options=question.options))
    record(Waiting(why="question"))
    asked = ctx.facts.requests.questions
    await ctx.activity.interruptible(
        ctx.activity.until(lambda: name not in asked or (ctx.headless and not ctx.watched()))
    )
    if name in asked:
        result = _nobody_answers(ctx, question.question, outcome)
        record(QuestionAnswered(question_id=name, text=result.text, by="program"))
        return result
    return ToolResult(ok=True, text=ctx.facts.requests.answers[name], summary="answered")


def _nobody_answers(ctx: RunContext, question: str, outcome: CallResults) -> ToolResult:
    on_ask = ctx.gate.policy.on_ask
    if on_ask == "refuse":
        return ToolResult(ok=True, text=NOBODY_HERE, summary=_NOBODY)
    if on_ask is None and ctx.facts.spec.predicates.exist and not _was_told(ctx.facts):
        return ToolResult(ok=True, text=DECIDE_ALONE, summary=_NOBODY)
    outcome.handoff = f"the model asks: {question}"
    return ToolResult(ok=False, text=HANDED_OVER, summary=_NOBODY)


def _was_told(facts: RunFacts) -> bool:
    """Return whether a question of an earlier step was already answered that nobody is there."""
    asked = (action for action in facts.actions if action.tool == "ask_person" and action.summary == _NOBODY)
    return any(action.step != facts.step for action in asked)
