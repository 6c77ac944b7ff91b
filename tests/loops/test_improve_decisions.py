"""What an improve run decides after each measurement."""

from __future__ import annotations

from typing import Any

import pytest
from loops.told import Told, closed, interval, kinds, opened

from rundry.agent.protocol import (
    Better,
    Budget,
    Finish,
    HandoffClosed,
    HandoffOpened,
    HandoffRecord,
    ImproveSpec,
    LoopKind,
    PassFinished,
    Reason,
    ScoreMeasured,
    ScoreNotMeasured,
    Unpaused,
    WorkResult,
)
from rundry.agent.stops.score import is_better, is_within_noise, noise_of, read_score


def improve(budget: Budget | None = None, **spec: Any) -> Told:
    told = {"score": "s", "bounded": True, **spec}
    return Told(LoopKind.IMPROVE, budget, improve=ImproveSpec(**told))


def measured(told: Told, score: float, best: float, *, kept: bool, number: int = 0) -> Told:
    return told.tell(ScoreMeasured(score=score, best=best, kept=kept, stale_passes=0, number=number))


def test_an_improve_run_measures_first_then_tries_until_the_score_stops_moving():
    told = improve(patience=2)
    assert kinds(told.decide()) == ["measure"]
    measured(told, 5, 5, kept=True)
    for number, verdict in enumerate(("kept", "reverted", "skipped", "kept", "unchanged"), 1):
        assert kinds(told.decide()) == ["begin"], number
        opened(told, number)
        if verdict == "kept":
            measured(told, 5 + number, 5 + number, kept=True, number=number)
        closed(told, number, verdict)
    assert kinds(told.decide()) == ["begin"]
    decision = closed(opened(told, 6), 6, "reverted").decide()
    assert decision.reason is Reason.PLATEAU  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("bounded", "budget"),
    [(False, Budget()), (True, Budget(steps=None, tokens=None, usd=None, seconds=None))],
)
def test_without_a_finite_budget_that_was_asked_for_nothing_is_even_measured(bounded: bool, budget: Budget):
    decision = improve(budget, bounded=bounded).decide()
    assert decision.reason is Reason.REFUSED  # type: ignore[union-attr]


def test_a_baseline_without_a_number_is_refused():
    decision = improve().decide(WorkResult(fault="the score command `s` printed nothing"))
    assert decision.reason is Reason.REFUSED and "printed nothing" in decision.detail  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("output", "score"),
    [
        ("0.93\n", 0.93), ("warm up 3\nscore: 1,234.5 ms\n\n", 1234.5), ("x = -3e-2", -0.03), ("87%", 87.0),
        ("12/15", 15.0), ("p50 1.5 p95", 1.5), (" .5", 0.5), ("+4", 4.0), ("loss nan, best 2", 2.0),
    ],
)  # fmt: skip
def test_a_score_is_the_last_number_on_the_last_line(output: str, score: float):
    assert read_score(output) == score


@pytest.mark.parametrize("output", ["", "\n\n", "7\nnone", "v2", "nan", "3 NaN", "inf", "-Infinity", "1e999"])
def test_what_is_not_a_number_is_reported(output: str):
    assert isinstance(read_score(output), str)


def test_a_score_is_better_by_any_amount_in_the_asked_direction():
    assert is_better(5.0001, 5, Better.MAX) and is_better(4.9999, 5, Better.MIN)
    assert not is_better(5, 5, Better.MAX) and not is_better(6, 5, Better.MIN)
    assert is_better(5.2, 5, Better.MAX, 0.1) and not is_better(5.1, 5, Better.MAX, 0.1000001)


def test_noise_is_the_median_absolute_deviation_and_marks_close_medians():
    assert noise_of([5.0]) is None and noise_of([1.0, 2.0, 9.0]) == 1.0
    assert is_within_noise(5.5, 5.0, (0.5, None)) and not is_within_noise(5.6, 5.0, (0.5, 0.1))
    assert not is_within_noise(5.0, 5.0, (None, None)), "without repeated measurements no noise is known"


def unmeasured(told: Told, number: int, in_a_row: int) -> Told:
    opened(told, number).tell(ScoreNotMeasured(number=number, why="timed out", in_a_row=in_a_row))
    return closed(told, number, "unmeasured")


def test_passes_without_a_measurement_are_not_stale_and_end_with_a_retryable_error():
    told = measured(improve(patience=2), 5, 5, kept=True)
    closed(opened(told, 1), 1, "reverted")
    assert kinds(unmeasured(told, 2, 1).decide()) == ["begin"], "one stale pass and one without a measurement"
    decision = unmeasured(told, 3, 2).decide()
    assert isinstance(decision, Finish) and decision.reason is Reason.ERROR and decision.retryable
    assert "could not be measured in 2 passes in a row" in decision.detail


@pytest.mark.parametrize("over", ["measured", "resumed"])
def test_a_measurement_or_another_try_starts_the_count_again(over: str):
    told = unmeasured(measured(improve(patience=2), 5, 5, kept=True), 1, 1)
    if over == "measured":
        told.tell(ScoreMeasured(score=4, best=5, kept=False, stale_passes=1, number=2))
    else:
        told.tell(ScoreNotMeasured(number=2, why="timed out", in_a_row=2), Unpaused())
    assert kinds(told.decide()) == ["begin"]


def test_three_skipped_passes_in_a_row_open_a_hand_off_and_another_three_after_it():
    told = interval()
    for number in (1, 2, 3):
        assert not isinstance(told.decide(at=300.0 * number), Finish)
        opened(told, number, at=300.0 * number).tell(
            PassFinished(number=number, verdict="skipped", why="the working tree is dirty (mine.txt)")
        )
    decision = told.decide(at=900.0)
    assert isinstance(decision, Finish) and decision.reason is Reason.HANDOFF
    assert "3 passes in a row were skipped: the working tree is dirty" in decision.detail
    told.tell(HandoffOpened(reason=decision.detail, suggested_action="", record=HandoffRecord()), HandoffClosed(by="p"))
    assert not isinstance(told.decide(at=1000.0), Finish)


def test_a_pass_that_starts_ends_the_row_of_skipped_ones():
    told = interval()
    for number, verdict in enumerate(("skipped", "skipped", "unchanged", "skipped", "skipped"), 1):
        closed(opened(told, number, at=300.0 * number), number, verdict)
    assert not isinstance(told.decide(at=1500.0), Finish)
