"""Measure the score: before the first pass, and after each pass, to decide whether its change is kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING

import msgspec

from ...layers.remedies import LayerRefused
from ...protocol import ImproveSpec, Reason, ScoreMeasured, ScoreNotMeasured, TryChosen, WorkResult
from ...sandbox.command_access import programs_of_user
from ...step.checks.judged_check import run_judged_check
from ...step.resources.activity import PersonInterrupted
from ...verdict.checks.check_environment import prepared_environment
from ...verdict.checks.score import (
    ScorePlace,
    is_better,
    is_within_noise,
    noise_of,
    read_score,
    score_place,
    why_elsewhere,
)
from ...verdict.judge.judge import decided_of
from ...verdict.judge.judge_setup import fresh_of, prepare_again
from ...verdict.judge.judge_view import ViewContent, ViewFailed, open_view
from ..end.case_of_run import case_of

if TYPE_CHECKING:
    from ...host.processes.processes import Finished
    from ...state.facts.pass_facts import PassFacts
    from ...step.resources.run_context import RunContext
    from ...verdict.checks.check_environment import CheckEnvironment
    from ...verdict.judge.judge_case import Case
    from ...verdict.judge.judge_view import JudgeView

_SHOWN = 200
"""Maximum number of characters of a failed score command's output that a reason quotes."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The verdict on a pass, with the reason."""

    kept: bool
    why: str
    is_measured: bool = True
    """False means that the score command printed no valid number."""
    ends: Reason | None = None
    """The reason with which a goal run ends, if its tries cannot reach the goal. None means that it is that of the
    verdict."""


async def measure_baseline(ctx: RunContext, spec: ImproveSpec) -> WorkResult:
    """Measure the score before anything is changed. If that fails, the result has a fault."""
    case = case_of(ctx) if ctx.views is not None else None
    try:
        values, seconds, place = await _scores(ctx, spec, None, case)
    except PersonInterrupted:
        return WorkResult(interrupted=True)
    if isinstance(values, str) or place is None:
        return WorkResult(fault=f"the score command `{spec.score}` {values}")
    score = median(values)
    ctx.events.record(
        ScoreMeasured(
            score=score,
            best=score,
            kept=True,
            stale_passes=0,
            command=spec.score,
            seconds=seconds,
            values=_shown(values),
            noise=noise_of(values),
            line=place.line,
            lines=place.count,
        )
    )
    return WorkResult()


@dataclass(frozen=True, slots=True)
class Score:
    """A measured score of one tree of files."""

    value: float | None
    """The median. None means that a measurement printed no valid number."""
    values: list[float]
    noise: float | None
    seconds: float
    why_not: str = ""
    """Why there is no value, as a sentence that follows "the command"."""
    tries: int = 1
    """Number of tries in the pass."""
    candidate: int = 0
    """Number of the try that has this score. 0 means that the pass has no tries."""


async def measure(ctx: RunContext, spec: ImproveSpec, passing: PassFacts, case: Case | None) -> Score:
    """Measure the score of the present files, or of a result as the judge sees it. Raises PersonInterrupted.

    `passing`: of the run, with its first score.
    """
    first = passing.scores[0] if passing.scores else None
    place = ScorePlace(first.line, first.lines) if first is not None and first.line else None
    values, seconds, _ = await _scores(ctx, spec, place, case)
    if isinstance(values, str):
        return Score(None, [], None, seconds, values)
    return Score(median(values), _shown(values), noise_of(values), seconds)


async def judge_score(
    ctx: RunContext, spec: ImproveSpec, number: int, chosen: TryChosen | None, case: Case | None
) -> Measured:
    """Measure and record the score of a pass. `chosen`: the applied try, if it has tries. Raises PersonInterrupted.

    `case`: the result, measured as the judge sees it. None means that its files are those of `ctx`.
    """
    assert ctx.facts.pass_facts is not None  # the caller works on a pass
    score = await measure(ctx, spec, ctx.facts.pass_facts, case)
    if chosen is not None:
        score = replace(score, tries=chosen.tries, candidate=chosen.candidate)
    return record_score(ctx, spec, number, score)


def record_score(ctx: RunContext, spec: ImproveSpec, number: int, score: Score) -> Measured:
    """Record the score of a pass, and return the verdict: a pass with a better score is kept."""
    passing = ctx.facts.pass_facts
    assert passing is not None and passing.best is not None  # the baseline is measured first
    best = passing.best
    if score.value is None:
        return record_no_score(ctx, spec, number, score.why_not, score.seconds)
    kept = is_better(score.value, best, spec.goal)
    stale = 0 if is_better(score.value, passing.reference, spec.goal, spec.min_delta) else passing.stale + 1
    in_noise = is_within_noise(score.value, best, (score.noise, passing.best_noise))
    ctx.events.record(
        ScoreMeasured(
            score=score.value,
            best=score.value if kept else best,
            kept=kept,
            stale_passes=stale,
            number=number,
            command=spec.score,
            seconds=score.seconds,
            values=score.values,
            noise=score.noise,
            within_noise=in_noise,
            tries=score.tries,
            candidate=score.candidate,
        )
    )
    who = f"try {score.candidate} of {score.tries}: " if score.candidate else ""
    told = f"{who}score {score.value:g}, {'before' if kept else 'not better than'} {best:g}"
    return Measured(kept, f"{told} (within noise)" if in_noise else told)


def record_no_score(ctx: RunContext, spec: ImproveSpec, number: int, why: str, seconds: float = 0.0) -> Measured:
    """Record that the score of a pass could not be measured. `why`: a text that continues "the command"."""
    assert ctx.facts.pass_facts is not None  # the caller works on a pass
    in_a_row = ctx.facts.pass_facts.unmeasured + 1
    ctx.events.record(ScoreNotMeasured(number=number, why=why, in_a_row=in_a_row, command=spec.score, seconds=seconds))
    return Measured(False, f"the score could not be measured: the command {why}", is_measured=False)


def _shown(values: list[float]) -> list[float]:
    return values if len(values) > 1 else []


async def _scores(
    ctx: RunContext, spec: ImproveSpec, place: ScorePlace | None, case: Case | None
) -> tuple[list[float] | str, float, ScorePlace | None]:
    """Measure `spec.repeat` times.

    `place`: where the number stood first. None means that this is the first output. Returns the numbers, or why one
    could not be measured; the seconds taken; and where the number stands.
    """
    if case is None:
        return await _repeated(ctx, spec, place, None, None)
    try:
        async with _view_of(case) as view:
            return await _repeated(ctx, spec, place, case, view)
    except ViewFailed as failed:
        return f"was not run: {failed}", 0.0, place


async def _repeated(
    ctx: RunContext, spec: ImproveSpec, place: ScorePlace | None, case: Case | None, view: JudgeView | None
) -> tuple[list[float] | str, float, ScorePlace | None]:
    values: list[float] = []
    seconds = 0.0
    for number in range(1, spec.repeat + 1):
        output, took = await _output(ctx, spec, case, view)
        seconds += took
        if isinstance(output, str):
            score: float | str = output
        else:
            value, text = output
            score = value if place is None else why_elsewhere(text, place) or value
            place = place or score_place(text)
        if isinstance(score, str):
            return f"{score} (measurement {number} of {spec.repeat})" if spec.repeat > 1 else score, seconds, place
        values.append(score)
    return values, seconds, place


async def _output(
    ctx: RunContext, spec: ImproveSpec, case: Case | None, view: JudgeView | None
) -> tuple[tuple[float, str] | str, float]:
    """Run the score command once: in a view of the judge, or like a check in the files of `ctx`.

    Returns its number and its output, or why there is no number; and the seconds taken.
    """
    own, left = ctx.facts.spec.predicates.timeout, ctx.limits.seconds_for_work()
    seconds = own if left is None else max(1.0, min(own, left))

    async def run(environment: CheckEnvironment) -> Finished:
        with ctx.limits.running():
            running = environment.sandbox.run(
                spec.score,
                ctx.workspace.root,
                msgspec.structs.replace(environment.access, readable=programs_of_user(spec.score, ctx.workspace.seen)),
                cwd=ctx.workspace.root,
                env=environment.env,
                timeout=seconds,
                separate_errors=True,
            )
            return await ctx.activity.interruptible(running)

    try:
        if case is not None and view is not None:
            uncounted = None
            with ctx.limits.running():
                done = await ctx.activity.interruptible(_run_in_view(case, view, spec.score, seconds))
        else:
            events = ctx.events.bound(None, None)
            done, place = await run_judged_check(ctx, spec.score, run, events)
            uncounted = place.why_unknown
            ctx.files.mark_changed()
    except LayerRefused as refused:
        return f"was not run: {refused}", 0.0
    if uncounted is not None:
        return f"did not count: {uncounted}", done.seconds
    if done.timed_out:
        return f"timed out after {seconds:.0f} s and was killed", done.seconds
    if done.error is not None:
        return f"could not be started: {done.error}", done.seconds
    if done.exit_code != 0:
        tail = " ".join((done.errors or done.full).decode("utf-8", "replace").split())[-_SHOWN:]
        return f"failed (exit code {done.exit_code}){f': {tail}' if tail else ''}", done.seconds
    text = done.full.decode("utf-8", "replace")
    score = read_score(text)
    return (score if isinstance(score, str) else (score, text)), done.seconds


@asynccontextmanager
async def _view_of(case: Case) -> AsyncGenerator[JudgeView]:
    """Make a view of a result without the changes that nobody decided on (decision 0040). Raises ViewFailed."""
    now = await asyncio.to_thread(decided_of, case)
    if now.decided.unknown:
        raise ViewFailed(f"what some files were before is not known: {now.decided.unknown[0]}")
    rows = () if case.unit is None else case.unit.changes.rows
    content = await asyncio.to_thread(ViewContent.without_undecided, now.decided, now.contents, rows)
    if why := await prepare_again(case, now.decided, content):
        raise ViewFailed(f"the setup fails with the changes of this run: {why}")
    content.fresh = fresh_of(case)
    async with open_view(case.layers, case.sandbox, content) as view:
        yield view


async def _run_in_view(case: Case, view: JudgeView, command: str, seconds: float) -> Finished:
    """Run the command once in the view."""
    root = case.workspace.root
    with prepared_environment(view.sandbox, case.env) as environment:
        access = msgspec.structs.replace(environment, layer=view.access).access
        return await view.sandbox.run(
            command,
            root,
            msgspec.structs.replace(access, readable=programs_of_user(command, case.workspace.seen)),
            cwd=root,
            env=environment.env,
            timeout=seconds,
            separate_errors=True,
        )
