"""What an improve run decides after each measurement."""

from __future__ import annotations

from typing import Any

import pytest
from run.loops.told import Told, closed, interval, kinds, opened

from rundry.agent.protocol import (
    Again,
    Better,
    Budget,
    ChildFinished,
    ChildSpent,
    ChildStarted,
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
    Spent,
    Unpaused,
    WorkResult,
)
from rundry.agent.verdict.checks.score import (
    is_better,
    is_within_noise,
    noise_of,
    read_score,
    score_place,
    why_elsewhere,
)


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


def with_runs(**spec: Any) -> Told:
    """An improve run whose passes are goal runs, with its first pass open."""
    return opened(measured(improve(pass_loop=LoopKind.GOAL, **spec), 5, 5, kept=True), 1)


def child_started(number: int = 1) -> ChildStarted:
    return ChildStarted(
        number=number,
        run_id=f"c{number}",
        journal="/j",
        loop=LoopKind.GOAL,
        about="",
        title="t",
        budget=Budget(steps=15),
    )


def child_ended(reason: Reason, number: int = 1, *, resumes: bool = False) -> ChildFinished:
    return ChildFinished(
        number=number, run_id=f"c{number}", reason=reason, detail="d", complete=False, exit_code=1, resumes=resumes
    )


def test_a_pass_that_is_a_run_is_closed_however_its_run_ended():
    for reason in (Reason.DONE, Reason.ANSWERED, Reason.BUDGET, Reason.STAGNATION, Reason.USER):
        told = with_runs()
        assert kinds(told.decide()) == ["child"]
        assert kinds(told.tell(child_started()).decide()) == ["child"]
        assert told.decide(busy=frozenset({"child:1"})) == Again([])
        assert kinds(told.tell(child_ended(reason)).decide()) == ["close"], reason


def test_a_pass_stays_open_for_a_run_that_failed_or_was_handed_over_until_it_is_continued():
    failed = with_runs().tell(child_started(), child_ended(Reason.ERROR, resumes=True))
    end = failed.decide(WorkResult(fault="no answer", retryable=True))
    assert isinstance(end, Finish) and (end.reason, end.retryable) == (Reason.ERROR, True)
    assert kinds(failed.tell(Unpaused()).decide()) == ["child"]
    waiting = with_runs().tell(child_started(), child_ended(Reason.HANDOFF, resumes=True))
    end = waiting.decide(WorkResult(handoff="someone has to decide"))
    assert isinstance(end, Finish) and end.reason is Reason.HANDOFF
    assert kinds(waiting.tell(HandoffClosed(by="person")).decide()) == ["child"]


def test_an_exhausted_budget_ends_a_run_of_runs_without_a_last_call():
    told = with_runs().tell(child_started(), child_ended(Reason.BUDGET))
    end = closed(told, 1, "unchanged").decide()
    assert isinstance(end, Finish) and (end.reason, end.wrap_up) == (Reason.BUDGET, False)
    assert end.detail == "pass 1: d", "its first call did not fit"


def test_passes_that_used_up_their_shares_end_with_budget_instead_of_a_plateau():
    for used, expected in ((3, Reason.BUDGET), (15, Reason.PLATEAU)):
        told = with_runs(patience=1).tell(child_started(), child_ended(Reason.BUDGET))
        told.tell(ChildSpent(run_id="c1", spent=Spent(steps=used)))
        end = closed(told, 1, "reverted").decide()
        assert isinstance(end, Finish) and end.reason is expected


@pytest.mark.parametrize(
    ("first", "later"),
    [
        ("5\n", "5\n1000\n"),
        ("5\n", "1000\n5\n"),
        ("score: 5\n", "score: 5\n1000\n"),
        ("score: 5\n", "score: 5\nscore: 1000\n"),
        ("warm up\nscore: 5 ms\n", "warm up\nscore: 5 ms\nfaster: 1000\n"),
        ("ran 3\n5\n", "5\n"),
        ("12 passed\n", "1000\n"),
    ],
)
def test_a_number_that_stands_elsewhere_than_at_first_is_not_a_score(first: str, later: str):
    why = why_elsewhere(later, score_place(first))
    assert why is not None and "first measurement" in why


@pytest.mark.parametrize(
    ("first", "later"),
    [
        ("5\n", "  -1.5e3 \n\n"),
        ("score: 1,234.5 ms\n", "score:  7 ms\n"),
        ("step 1\nscore: 5\n", "step 1\nstep 2\nscore: 4\n"),
        ("took 0.3 s, 5 points", "took 12.9 s, 70 points"),
        ("12/15", "13/15"),
    ],
)
def test_a_number_on_the_line_of_the_first_one_is_a_score(first: str, later: str):
    assert why_elsewhere(later, score_place(first)) is None
