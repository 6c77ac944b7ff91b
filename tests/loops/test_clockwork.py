"""interval, paced and improve decide from facts alone."""

from __future__ import annotations

from typing import Any

import pytest

from rundry.agent.facts.facts import RunFacts
from rundry.agent.loops import LoopState, decider
from rundry.agent.protocol import (
    Again,
    Better,
    Budget,
    Charged,
    Decision,
    Finish,
    HandoffClosed,
    HandoffOpened,
    HandoffRecord,
    ImproveSpec,
    IntervalSpec,
    LoopKind,
    ModelSpec,
    PacedSpec,
    PassFinished,
    PassStarted,
    PatchKept,
    Price,
    Prompted,
    Reason,
    ReplyFinished,
    RunSpec,
    RunStarted,
    Said,
    ScoreMeasured,
    ScoreNotMeasured,
    Sleeping,
    StallDetected,
    Stamped,
    StepFinished,
    StepStarted,
    ToolCalled,
    ToolFinished,
    Unpaused,
    Wait,
    Woken,
    WorkResult,
)
from rundry.agent.stops.pacing import lifetime, pace, prices
from rundry.agent.stops.score import is_better, is_within_noise, noise_of, read_score

T0 = 1_800_000_000.0


class Told:
    """Facts, told event by event."""

    def __init__(self, loop: LoopKind, budget: Budget | None = None, **spec: Any) -> None:
        told = RunSpec(
            run_id="r",
            loop=loop,
            task="t",
            workspace="/w",
            model=ModelSpec(name="m"),
            budget=budget or Budget(),
            **spec,
        )
        self.facts = RunFacts(told)
        self._seq = 0

    def tell(self, *events: Any, step: int | None = None) -> Told:
        for event in events:
            self._seq += 1
            self.facts.apply(Stamped(self._seq, 0.0, step, None, event))
        return self

    def step(self, *, calls: int = 1) -> Told:
        number = self.facts.step + 1
        return self.tell(
            StepStarted(number=number), ReplyFinished(finish="x", calls=calls), StepFinished(number=number), step=number
        )

    def asks(self, seconds: float, *, ok: bool = True) -> Told:
        self.step()
        name = f"c{self._seq}"
        return self.tell(
            ToolCalled(call_id=name, tool="wake_after", arguments={"seconds": seconds, "reason": "CI"}),
            ToolFinished(call_id=name, tool="wake_after", ok=ok, result="noted"),
            step=self.facts.step,
        )

    def decide(self, *results: WorkResult, at: float = 0.0, **state: Any) -> Decision:
        return decider(self.facts.spec.loop)(LoopState(self.facts, results, now=T0 + at, **state))


def kinds(decision: Decision) -> list[str]:
    assert isinstance(decision, Again), decision
    return [work.kind for work in decision.works]


def interval(**spec: Any) -> Told:
    return Told(LoopKind.INTERVAL, interval=IntervalSpec(every=300.0, **spec))


def opened(told: Told, number: int = 1, at: float = 0.0) -> Told:
    return told.tell(PassStarted(number=number, began=T0 + at, fresh=True), Prompted(kind="task", text="go"))


def closed(told: Told, number: int = 1, verdict: str = "kept") -> Told:
    return told.tell(PassFinished(number=number, verdict=verdict))


def test_the_first_pass_begins_at_once_and_the_next_one_when_it_is_due():
    told = interval()
    assert kinds(told.decide()) == ["begin"]
    closed(opened(told))
    decision = told.decide(at=100.0)
    assert isinstance(decision, Wait) and decision.seconds == 200.0
    assert decision.sleep is not None and decision.sleep.until == T0 + 300.0
    assert kinds(told.decide(at=300.0)) == ["begin"]


def test_a_clock_that_was_set_back_a_day_never_makes_the_next_pass_wait_longer_than_its_interval():
    told = closed(opened(interval()))
    decision = told.decide(at=-86_400.0)
    assert isinstance(decision, Wait) and decision.seconds == 300.0
    assert decision.sleep is not None and decision.sleep.until == T0 - 86_400.0 + 300.0


def test_a_sleep_that_another_runner_began_never_lasts_longer_because_the_clock_was_set_back():
    told = paced().asks(1800.0)
    told.tell(Sleeping(seconds=1800, asked=1800, why="CI", until=T0 + 1800))
    decision = told.decide(at=-86_400.0)
    assert isinstance(decision, Wait) and decision.seconds == 1800.0
    assert decision.sleep is not None and decision.sleep.until == T0 - 86_400.0 + 1800.0


def test_a_pass_that_overran_is_followed_at_once_and_never_met():
    told = opened(interval())
    assert kinds(told.decide(at=900.0)) == ["main"]
    assert kinds(closed(told).decide(at=900.0)) == ["begin"]


@pytest.mark.parametrize("by", ["person", "message", "clock"])
def test_whoever_wakes_it_the_next_pass_begins(by: str):
    told = closed(opened(interval())).tell(Sleeping(seconds=300, asked=300, why=""), Woken(by=by))
    assert kinds(told.decide(at=1.0)) == ["begin"]


def test_a_pass_is_over_after_its_steps_after_two_silences_and_not_before():
    told = opened(interval(pass_steps=3))
    assert kinds(told.step(calls=0).decide()) == ["main"]
    assert kinds(told.step().decide()) == ["main"]
    assert kinds(told.step().decide()) == ["close"]
    silent = opened(interval()).step(calls=0).step(calls=0)
    assert kinds(silent.decide()) == ["close"]


def test_a_pass_that_is_being_put_back_is_put_back_whatever_else_happened():
    told = opened(interval()).step().tell(PatchKept(number=1, why="red", patch="b", world="w"))
    assert kinds(told.decide(WorkResult(exhausted="step budget"))) == ["close"]


def test_silence_never_ends_an_interval_run_and_an_empty_budget_does_before_it_sleeps():
    told = Told(LoopKind.INTERVAL, Budget(steps=2), interval=IntervalSpec(every=300.0))
    opened(told).step(calls=0).step(calls=0)
    told.tell(Charged(tokens_in=1, tokens_out=1))
    decision = closed(told, verdict="unchanged").decide(at=1.0)
    assert decision.reason is Reason.BUDGET  # type: ignore[union-attr]


def test_the_deadline_and_a_stall_end_it_between_passes_and_within_one():
    late = closed(opened(Told(LoopKind.INTERVAL, Budget(deadline=T0 + 50), interval=IntervalSpec(every=300.0))))
    assert late.decide(at=51.0).reason is Reason.BUDGET  # type: ignore[union-attr]
    stuck = opened(interval()).tell(StallDetected(kind="repeat", signature="s", response="stop"))
    assert stuck.decide().reason is Reason.STAGNATION  # type: ignore[union-attr]


def paced(**spec: Any) -> Told:
    return Told(LoopKind.PACED, paced=PacedSpec(**spec)).tell(
        RunStarted(run_id="r", loop=LoopKind.PACED, task="t", workspace="/w", model="m", budget=Budget(), journal="j"),
        Said(text="t", kind="task"),
    )


def test_a_delay_that_was_asked_for_is_slept_once_and_one_that_failed_is_not():
    told = paced().asks(1800.0)
    decision = told.decide()
    assert isinstance(decision, Wait) and decision.seconds == 1800.0 and decision.sleep is not None
    told.tell(decision.sleep, Woken(by="clock", slept=1800.0))
    again = told.decide(at=1800.0)
    assert isinstance(again, Again) and again.works[0].prompt == "You slept 1800 s: the delay is over."
    assert kinds(paced().asks(1800.0, ok=False).decide()) == ["main"]


def test_what_another_runner_slept_counts():
    told = paced().asks(1800.0)
    told.tell(Sleeping(seconds=1800, asked=1800, why="CI", until=T0 + 1800))
    decision = told.decide(at=1000.0)
    assert isinstance(decision, Wait) and decision.seconds == 800.0


@pytest.mark.parametrize(
    ("asked", "ttl", "kept", "moved"),
    [
        (1, 300, 60, ""), (60, 300, 60, ""), (270, 300, 270, ""), (271, 300, 270, "inside"),
        (300, 300, 270, "inside"), (301, 300, 270, "inside"), (735, 300, 270, "inside"), (736, 300, 1200, "out"),
        (1199, 300, 1200, "out"), (1200, 300, 1200, ""), (3600, 300, 3600, ""), (9999, 300, 3600, ""),
        (300, None, 300, ""), (5, None, 60, ""), (9999, None, 3600, ""),
        (100, 600, 100, ""), (571, 600, 570, "inside"), (2000, 600, 2400, "out"),
        (60, 60, 240, "out"), (100, 90, 60, "inside"), (3580, 3600, 3570, "inside"), (3590, 3600, 3600, "out"),
        (3600, 7200, 3600, ""),
    ],
)  # fmt: skip
def test_the_dead_zone_of_the_cache(asked: float, ttl: float | None, kept: float, moved: str):
    delay = pace(asked, ttl)
    assert (delay.seconds, delay.moved) == (kept, moved)


def test_a_read_is_priced_warm_and_cold_and_a_model_without_a_price_has_neither():
    price = Price(input=3e-6, output=1e-5, cached=3e-7, worst_input=3e-6, worst_output=1e-5)
    assert prices(100_000, price) == (pytest.approx(0.03), pytest.approx(0.3))
    assert prices(100_000, None) is None
    flat = Price(input=3e-6, output=1e-5, cached=3e-6, worst_input=3e-6, worst_output=1e-5)
    assert lifetime(300, price, asked=False, was_hit=False) == 300
    assert lifetime(300, flat, asked=False, was_hit=False) is None
    assert lifetime(300, flat, asked=False, was_hit=True) == lifetime(300, None, asked=False, was_hit=False) == 300


def test_where_warm_and_cold_reads_cost_the_same_no_delay_is_moved():
    told = Told(LoopKind.PACED, paced=PacedSpec(cache_ttl=300, ttl_asked=True)).tell(Prompted(kind="task", text="go"))
    told.asks(400)
    dear = Price(input=3e-6, output=1e-5, cached=3e-7, worst_input=3e-6, worst_output=1e-5)
    flat = Price(input=3e-6, output=1e-5, cached=3e-6, worst_input=3e-6, worst_output=1e-5)
    moved, kept = told.decide(price=dear), told.decide(price=flat)
    assert isinstance(moved, Wait) and moved.seconds == 270
    assert isinstance(kept, Wait) and kept.seconds == 400
    assert kept.sleep is not None and (kept.sleep.moved, kept.sleep.warm_until) == ("", T0 + 300)


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
def test_what_is_no_number_is_said_to_be_none(output: str):
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
