"""Measures the score: before the first pass, and after each, when it decides whether the change is kept."""

from __future__ import annotations

from dataclasses import dataclass

from ..protocol import ImproveSpec, ScoreMeasured, WorkResult
from ..step import Kit, PersonInterrupted
from ..stops.score import is_better, read_score

_SHOWN = 200
"""Characters of what a failed score command printed last."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What a measurement says of a change."""

    kept: bool
    why: str


async def measure_baseline(kit: Kit, spec: ImproveSpec) -> WorkResult:
    """The score before anything is changed; a fault where there is none."""
    try:
        score, seconds = await _score(kit, spec)
    except PersonInterrupted:
        return WorkResult(interrupted=True)
    if isinstance(score, str):
        return WorkResult(fault=f"the score command `{spec.score}` {score}")
    kit.record(ScoreMeasured(score=score, best=score, kept=True, stale_passes=0, command=spec.score, seconds=seconds))
    return WorkResult()


async def judge_score(kit: Kit, spec: ImproveSpec, number: int) -> Measured:
    """Better by more than `min_delta`, or not; a measurement that failed is not. Raises PersonInterrupted."""
    passing = kit.facts.passing
    assert passing is not None and passing.best is not None  # the baseline comes first
    best = passing.best
    score, seconds = await _score(kit, spec)
    if isinstance(score, str):
        return Measured(False, f"the score could not be measured: the command {score}")
    kept = is_better(score, best, spec.goal, spec.min_delta)
    stale = 0 if kept else passing.stale + 1
    kit.record(
        ScoreMeasured(
            score=score,
            best=score if kept else best,
            kept=kept,
            stale_passes=stale,
            number=number,
            command=spec.score,
            seconds=seconds,
        )
    )
    return Measured(kept, f"score {score:g}, {'before' if kept else 'not better than'} {best:g}")


async def _score(kit: Kit, spec: ImproveSpec) -> tuple[float | str, float]:
    """The number and the seconds it took; or why there is none. It runs as a check does."""
    own, left = kit.facts.spec.predicates.timeout, kit.seconds_for_work()
    seconds = own if left is None else max(1.0, min(own, left))
    with kit.watch.running():
        running = kit.sandbox.run(
            spec.score,
            kit.workspace.root,
            cwd=kit.workspace.root,
            env=kit.env,
            timeout=seconds,
            apart=True,
        )
        done = await kit.interruptible(running)
    kit.changed = True
    if done.timed_out:
        return f"timed out after {seconds:.0f} s and was ended", done.seconds
    if done.error is not None:
        return f"could not be started: {done.error}", done.seconds
    if done.exit_code != 0:
        tail = " ".join((done.errors or done.full).decode("utf-8", "replace").split())[-_SHOWN:]
        return f"failed (exit code {done.exit_code}){f': {tail}' if tail else ''}", done.seconds
    return read_score(done.full.decode("utf-8", "replace")), done.seconds
