"""Check and judge a result where it is in the workspace now, after a person decided on what a run changed."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import TYPE_CHECKING

import msgspec

from ...protocol import Confirmed, Evidence, Finish, Reason, confirmation_words
from ...step.checks.verify import verify
from ...verdict.judge.judge import judge, not_judged, still_judged
from ...verdict.judge.judge_view import ViewFailed
from ..end.case_of_run import case_of
from ..end.during_run import confirm_result
from ..end.evidence_of_run import evidence_of
from ..end.outcome_of_run import ended_event, outcome_of
from ..end.undecided import note_at_end
from ..loops.shared.loop_state import LoopState, met

if TYPE_CHECKING:
    from ...protocol import Judged
    from ...step.resources.run_context import RunContext


class InPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the workspace is as the run wants it."""

    met: str | None
    """The checks that pass in the workspace, or None if they do not pass."""
    why: str = ""
    """Why that does not count: the judge, or the clean checkout. Empty means it counts."""
    evidence: Evidence | None = None


async def result_in_place(ctx: RunContext) -> InPlace:
    """Run the checks in the workspace, and judge the result unless its verdict still holds. Nobody is asked.

    Notes in the ledger what nobody decided on.
    """
    before, events = ctx.facts.verdicts.judgement, ctx.events
    with ctx.activity.in_progress():
        await verify(ctx, events, claim=True, compared=False)
        held, why = met(LoopState(ctx.facts)), ""
        if held is not None and ctx.judges:
            judged = await _judgement(ctx, before)
            events.record(judged)
            why = "" if judged.passed else judged.detail
        if held is not None and not why and ctx.facts.spec.predicates.confirming:
            await confirm_result(ctx)
            why = _why_unconfirmed(ctx)
    await note_at_end(ctx)
    return InPlace(met=held, why=why, evidence=evidence_of(ctx.facts))


async def _judgement(ctx: RunContext, before: Judged | None) -> Judged:
    """Return the judgement of what is in the workspace. `before`: the one of the stage."""
    try:
        case = dataclasses.replace(case_of(ctx), until=None, had_views=False)  # a person has just decided on all
        known = await asyncio.to_thread(still_judged, case, before)
    except ViewFailed as failed:
        return not_judged(failed)
    if known is not None and not known.undecided_count:  # else the user's files of now may need an undecided change
        return known
    return await judge(case)


def _why_unconfirmed(ctx: RunContext) -> str:
    evidence = evidence_of(ctx.facts)
    found = None if evidence is None else evidence.confirmation
    return "" if found is None or found.result is Confirmed.PASSED else confirmation_words(found)


def end_as_done(ctx: RunContext, found: InPlace) -> None:
    """Record that a run which was a hand-off is done, because a person decided on what it waited for."""
    ended = ctx.facts.ended
    if ended is None or ended.reason is not Reason.HANDOFF or found.met is None or found.why:
        return
    end, path = Finish(reason=Reason.DONE, detail=found.met), ctx.journal.path
    outcome = outcome_of(ctx.facts, end, answer=ended.answer, seconds=0.0, journal=path, evidence=found.evidence)
    ctx.events.record(ended_event(outcome), durable=True)
