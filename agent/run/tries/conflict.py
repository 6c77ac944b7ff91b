"""Decide about a chosen try whose files were edited since its pass began: only a person may replace these edits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ...protocol import PassStarted, QuestionAnswered, QuestionAsked, TryFinished, TryMeasured, Waiting
from ..handoff.handoff import DECISION_PREFIX

if TYPE_CHECKING:
    from ...step.resources.context import RunContext
    from ...workspace.snapshots.snapshots import Snapshots

KEEP = "Keep the edits"
REPLACE = "Replace them with the try"
_NAMED = 6


async def edited_since(snapshots: Snapshots, started: PassStarted, end: TryFinished, base: str) -> list[str]:
    """Return the files of a try whose present content is neither that of the pass's start nor that of the try.

    `base`: the present snapshot of the run's tree. Raises SnapshotDamaged.
    """
    moved = {change.path for change in await snapshots.changes(started.world or "", base)}
    other = {change.path for change in await snapshots.changes(base, end.world or "")}
    return [path for path in end.files if path in moved & other]


async def decide_conflict(
    ctx: RunContext, best: TryMeasured, edited: list[str], base: str, *, may_hand_over: bool
) -> Literal["keep", "replace", "hand over"]:
    """Ask the person. If no view is attached, keep the edits, or hand the run over if its policy says so.

    Raises PersonInterrupted.
    """
    name = f"try-{best.number}.{best.candidate}-{base[:12]}"
    requests, hands_over = ctx.facts.requests, may_hand_over and ctx.gate.policy.on_ask == "handoff"
    if name not in requests.answers and name not in requests.questions:
        if not ctx.watched():
            return "hand over" if hands_over else "keep"
        ctx.events.record(QuestionAsked(question_id=name, question=_question(best, edited), options=[KEEP, REPLACE]))
    if name not in requests.answers:
        ctx.events.record(Waiting(why="question"))
        await ctx.activity.interruptible(
            ctx.activity.until(lambda: name in requests.answers or (ctx.headless and not ctx.watched()))
        )
    if name not in requests.answers and hands_over:
        return "hand over"  # the question stays open
    if name not in requests.answers:
        ctx.events.record(QuestionAnswered(question_id=name, text=KEEP, by="program"))
    is_replaced = requests.answers[name].strip().casefold().rstrip(".!") in (REPLACE.casefold(), "replace", "2")
    return "replace" if is_replaced else "keep"


def why_handed_over(best: TryMeasured, edited: list[str]) -> str:
    """Return the reason of the hand-off, with the decision that someone has to make."""
    return f"{DECISION_PREFIX}{_question(best, edited)}"


def why_kept(best: TryMeasured, edited: list[str]) -> str:
    """Return why the try is not applied."""
    return f"try {best.candidate} of {best.tries} was not applied, because {_listed(edited)}"


def _question(best: TryMeasured, edited: list[str]) -> str:
    score = "" if best.score is None else f" (score {best.score:g})"
    found = f"Try {best.candidate} of {best.tries} is the best one{score}."
    return f"{found} It conflicts with edits: {_listed(edited)}. Keep the edits and drop the try, or replace them?"


def _listed(edited: list[str]) -> str:
    more = f" and {len(edited) - _NAMED} more" if len(edited) > _NAMED else ""
    return f"{', '.join(edited[:_NAMED])}{more} changed on disk since the pass began"
