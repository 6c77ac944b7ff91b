"""Judge the result of a live run before it ends, and ask the person about what it rests on (decision 0040)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from ...protocol import Judged, JudgementAccepted, Prompted, UndecidedAccepted, UndecidedRejected
from ...step.checks.feedback import judged_feedback
from ...step.checks.judged_check import background_suspended
from ...step.resources.activity import PersonInterrupted
from ...verdict.judge.judge import judge, not_judged
from ...verdict.judge.judge_view import ViewFailed
from .case_of_run import case_now
from .suspect_decisions import accepted_by_person
from .undecided_proposal import undecided_draft

if TYPE_CHECKING:
    from ...gate.ruling import EntryRuling
    from ..live.live_run import LiveRun

_MOST_PROPOSALS = 2
"""First the files that the check opened, then what is left."""


async def judge_result(run: LiveRun) -> None:
    """Judge the result and record the judgement. The person can interrupt this: then it is judged again later."""
    ctx = run.ctx
    async with run.files_lock.held("the judge"):
        with ctx.activity.in_progress():
            try:
                events = ctx.events.bound(None, None)
                async with background_suspended(ctx, events):
                    with ctx.limits.running():
                        found = await ctx.activity.interruptible(_judgement(run))
                events.record(found)
                if found.why == "holdout":  # else the model would not know why the person resumes the run
                    events.record(Prompted(kind="check", text=judged_feedback(found)))
            except PersonInterrupted:
                if ctx.limits.deadline_passed():
                    late = Judged(grade="passed", passed=False, why="budget", detail="the deadline passed")
                    ctx.events.record(late)
                else:
                    run.pauses.after_interrupt()


async def _judgement(run: LiveRun) -> Judged:
    try:
        case = await case_now(run.ctx)
    except ViewFailed as failed:
        return not_judged(failed)
    finder = run.finder
    if finder is not None:  # in a migration, the checks of all items decide
        items = await asyncio.to_thread(finder.checks_to_judge)
        case = replace(case, items=items, parallel=max(1, finder.spec.checks))
    return await judge(case)


async def _ask_about_undecided(run: LiveRun) -> bool:
    """Show the person the changes that the result rests on. Returns whether the run continues.

    If the person accepts, the result is judged again. If it then rests on other changes, the person is shown those,
    once. If the person rejects, the model gets the refusal. Nobody is asked twice about the same changes.
    """
    ctx, verdicts = run.ctx, run.facts.verdicts
    judged = verdicts.judgement
    if judged is None or not judged.rests_on or not ctx.journal.views.is_attended():
        return False
    asked = {*verdicts.rejected, *verdicts.proposed}
    if judged.undecided_digest in asked or len(verdicts.proposed) >= _MOST_PROPOSALS:
        return False
    events = ctx.events.bound(None, None)
    try:
        draft = await undecided_draft(await case_now(ctx), judged.rests_on)
    except ViewFailed:  # the judge names the reason when it runs again
        return False
    if draft is None:
        return False
    with ctx.activity.in_progress():
        try:
            opening = ctx.gate.propose(draft.effects, call_id="", events=events)
            ruling = await ctx.activity.interruptible(opening)
        except PersonInterrupted:
            run.pauses.after_interrupt()
            return True
    if ruling.approved:
        accepted = [path for at, path in enumerate(draft.paths) if not _is_skipped(ruling.entries.get(at))]
        events.record(UndecidedAccepted(paths=accepted, by=ruling.by))
        return True
    if ruling.refused_by != "person":
        return False
    events.record(UndecidedRejected(digest=judged.undecided_digest, reason=ruling.reason or "", by=ruling.by))
    events.record(Prompted(kind="check", text=judged_feedback(judged, ruling.note_for_model)))
    return True


def _is_skipped(ruling: EntryRuling | None) -> bool:
    return ruling is not None and ruling.skipped


async def ask_about_judgement(run: LiveRun) -> bool:
    """Ask the person about a red judgement, if they can decide on it. Returns whether the run continues."""
    judged = run.facts.verdicts.judgement
    if judged is None:
        return False
    return await (_ask_about_suspect(run, judged) if judged.why == "suspect" else _ask_about_undecided(run))


async def _ask_about_suspect(run: LiveRun, judged: Judged) -> bool:
    question = "\n".join([*judged.suspect, "Accept the result as done, or let the model continue?"])
    answer = await accepted_by_person(run, f"judge-{run.facts.verdicts.judgement_seq}", question)
    if answer is None:
        return False
    if answer.is_accepted:
        run.ctx.events.record(JudgementAccepted())
    elif run.requests.stop is None:
        run.ctx.events.record(Prompted(kind="check", text=judged_feedback(judged, answer.said)))
    return True
