"""What a judgement takes: its checks, and the planted tests of checks and scores."""

from __future__ import annotations

from rundry.agent.protocol import CheckFinished, PlantPrepared
from rundry.agent.state.facts.verdicts import Verdicts
from rundry.agent.verdict.judge.judge import seconds_needed

CHECK, SCORE = "pytest -q", "pytest -q && echo 1 || echo 0"


def verdicts(*plants: PlantPrepared) -> Verdicts:
    check = CheckFinished(command=CHECK, passed=True, exit_code=0, timed_out=False, failing=0, output="", seconds=3.0)
    return Verdicts(checks={CHECK: check}, plants={one.command: one for one in plants})


def test_a_check_with_planted_tests_counts_twice():
    assert seconds_needed(verdicts(), [CHECK], []) == 3.0
    assert seconds_needed(verdicts(PlantPrepared(command=CHECK, plan="p", seconds=9.0)), [CHECK], []) == 6.0
    assert seconds_needed(verdicts(PlantPrepared(command=CHECK, seconds=9.0)), [CHECK], []) == 3.0


def test_the_planted_tests_of_a_score_count():
    assert seconds_needed(verdicts(PlantPrepared(command=SCORE, plan="p", seconds=4.0)), [], [SCORE]) == 4.0
    assert seconds_needed(verdicts(PlantPrepared(command=SCORE, seconds=4.0)), [], [SCORE]) == 0.0
