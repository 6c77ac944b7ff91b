"""A pass whose runner died after the measurement and before the verdict."""

from __future__ import annotations

import pytest

from rundry.agent.protocol import (
    PassFinished,
    PassStarted,
    RunResumed,
    ScoreMeasured,
    ScoreNotMeasured,
    Stamped,
)
from rundry.agent.state.facts.pass_facts import PassFacts

RESUMED = RunResumed(run_id="r", from_seq=1)


def facts_after(*events: object) -> PassFacts:
    facts = PassFacts()
    for seq, event in enumerate(events, 1):
        facts.apply(Stamped(seq=seq, at=0.0, step=None, work=None, event=event))
    return facts


def measured(number: int, score: float, best: float, *, stale: int = 0) -> ScoreMeasured:
    kept = score == best
    return ScoreMeasured(
        score=score, best=best, kept=kept, stale_passes=stale, number=number, command="wc", seconds=0.0
    )


@pytest.mark.parametrize(
    "event", [measured(1, 17, 17), measured(1, 30, 27, stale=1), ScoreNotMeasured(number=1, why="x", in_a_row=1)]
)
def test_a_pass_is_measured_again_by_a_new_runner_against_the_score_before_it(event):
    facts = facts_after(measured(0, 27, 27), PassStarted(number=1, lenses=[]), event, RESUMED)
    assert (facts.best, facts.reference, facts.stale, facts.unmeasured, len(facts.scores)) == (27, 27, 0, 0, 1)


def test_the_measurement_of_a_pass_with_a_verdict_stays():
    finished = PassFinished(number=1, new=0, dry_streak=0, verdict="kept")
    facts = facts_after(measured(0, 27, 27), PassStarted(number=1, lenses=[]), measured(1, 17, 17), finished, RESUMED)
    assert (facts.best, facts.reference, len(facts.scores)) == (17, 17, 2)
