"""Choose a try: by its score, or in a goal run the smallest change among those that pass the check."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from ...protocol import ImproveSpec, Judged, PassStarted, Reason, TryMeasured
from ...verdict.checks.score import is_better
from ...verdict.judge.judge import not_judged
from ...verdict.judge.judge_view import ViewFailed
from ..loops.shared.judged_end import with_options
from ..loops.shared.pass_decisions import steps_used
from .check_tree import why_failing
from .left_patch import UNREADABLE
from .measure import Measured, Score, measure, record_no_score, record_score
from .try_texts import tries_summary
from .unit_changes import changed_lines
from .unit_judging import case_of_try, judge_unit

if TYPE_CHECKING:
    from ...state.facts.pass_facts import PassFacts
    from ...step.resources.run_context import RunContext
    from .one_try import Attempt


async def measure_try(ctx: RunContext, attempt: Attempt) -> None:
    """Check a try in its own files, measure its score if the run has one, and record both. `ctx`: the run's.

    Raises PersonInterrupted.
    """
    own, spec, changes = attempt.ctx, ctx.facts.spec.improve, attempt.changes
    why, score = await _why_not(ctx, attempt), None
    if why is None and spec is not None:
        try:
            case = case_of_try(attempt, await attempt.opened.listed()) if own.views is not None else None
            score = await measure(own, spec, _pass_facts(ctx), case)
        except (*UNREADABLE, ViewFailed) as error:
            why = f"its files cannot be used again: {error}"
    if score is not None and score.value is None:
        why = f"the score could not be measured: the command {score.why_not}"
    own.events.record(
        TryMeasured(
            number=attempt.number,
            candidate=attempt.candidate,
            tries=attempt.tries,
            score=None if score is None else score.value,
            why=why or "",
            not_measured=score is not None and score.value is None,
            values=[] if score is None else score.values,
            noise=None if score is None else score.noise,
            seconds=0.0 if score is None else score.seconds,
            lines=changed_lines(changes) if spec is None and why is None else None,
        )
    )


async def _why_not(ctx: RunContext, attempt: Attempt) -> str | None:
    """Return why this try cannot be chosen, whatever its score, or None. Raises PersonInterrupted."""
    for change in attempt.changes:
        if ctx.guard.matches(change.path):
            return f"it changed {change.path}, which you guard with --guard"
    try:
        await attempt.opened.open_again()
    except UNREADABLE as error:
        return f"its files cannot be used again: {error}"
    attempt.ctx.files.mark_changed()
    attempt.ctx.files.note_verified(None)
    await attempt.ctx.fingerprint.take()
    return await why_failing(attempt.ctx)


async def judge_try(ctx: RunContext, attempt: Attempt, measured: TryMeasured) -> Judged | None:
    """Judge a try whose predicates hold. Returns the judgement if it cannot be chosen. Raises PersonInterrupted."""
    own = attempt.ctx
    if not (own.judges and ctx.facts.spec.predicates.exist):  # its score was measured as the judge sees it
        return None
    try:
        found = await judge_unit(ctx, case_of_try(attempt, await attempt.opened.listed()))
    except ViewFailed as failed:
        found = not_judged(failed)
    except UNREADABLE as error:
        found = Judged(grade="passed", passed=False, why="unknown", detail=f"its files cannot be read: {error}")
    if found.passed:
        return None
    own.events.record(msgspec.structs.replace(measured, why=with_options(found), lines=None))
    return found


def best_try(ctx: RunContext) -> TryMeasured | None:
    """Return the try to apply, or None. Of equal tries, it is the first one."""
    passing, spec = _pass_facts(ctx), ctx.facts.spec.improve
    if spec is not None:
        return _best_score(passing, spec)
    able = [one for _, one in sorted(passing.measured.items()) if not one.why and one.lines is not None]
    return min(able, key=lambda one: one.lines or 0, default=None)


def _best_score(passing: PassFacts, spec: ImproveSpec) -> TryMeasured | None:
    """Return the try with the best score, if it is better than the best score so far."""
    found: TryMeasured | None = None
    threshold = passing.best
    assert threshold is not None  # the baseline is measured first
    for _, one in sorted(passing.measured.items()):
        if one.score is not None and not one.why and is_better(one.score, threshold, spec.goal):
            found, threshold = one, one.score
    return found


def record_none(ctx: RunContext, started: PassStarted, refused: Sequence[Judged]) -> Measured:
    """Record that no try is chosen, and return why. Only a measured score makes the pass stale.

    `refused`: what the judge did not let pass, the best one first.
    """
    spec, facts = ctx.facts.spec.improve, _pass_facts(ctx)
    results = tries_summary(facts, started.tries)
    if refused and refused[0].why != "budget":
        why = f"no try was chosen: {with_options(refused[0])}. The patch of each is in the journal"
        return Measured(False, why, ends=Reason.HANDOFF)
    if spec is None:
        ends = Reason.BUDGET if _is_limited(ctx, facts) else Reason.STAGNATION
        return Measured(False, f"no try reached the goal: {results or 'none ended'}", ends=ends)
    scored = [one for one in facts.measured.values() if one.score is not None]
    if scored:
        highest = spec.goal.value == "max"
        nearest = max(scored, key=lambda one: (one.score or 0.0) if highest else -(one.score or 0.0))
        score = Score(
            nearest.score, nearest.values, nearest.noise, nearest.seconds, "", started.tries, nearest.candidate
        )
        record_score(ctx, spec, started.number, score)
        return Measured(False, f"no try was better than {facts.best:g}: {results}")
    failed = [one for _, one in sorted(facts.measured.items()) if one.not_measured]
    if failed:
        why = failed[0].why.rpartition("the command ")[2]
        seconds = sum(one.seconds for one in failed)
        record_no_score(ctx, spec, started.number, f"{why} (no try could be measured)", seconds)
        return Measured(False, f"no try could be measured: {results}", is_measured=False)
    return Measured(False, results or "no try ended")


def _is_limited(ctx: RunContext, facts: PassFacts) -> bool:
    """Return whether a limit ended a try: of the budget, or its share of the steps."""
    spec, ended = ctx.facts.spec.tries, [end for end in facts.tries.values() if end is not None]
    limit = None if spec is None else spec.most_steps(ctx.facts.budget.steps)
    return any(end.exhausted or (limit is not None and end.why == steps_used(limit)) for end in ended)


def _pass_facts(ctx: RunContext) -> PassFacts:
    assert ctx.facts.pass_facts is not None  # tries belong to a pass
    return ctx.facts.pass_facts
