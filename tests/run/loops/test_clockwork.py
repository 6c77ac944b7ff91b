"""interval, paced and improve decide from facts alone."""

from __future__ import annotations

from typing import Any

import pytest
from run.loops.told import T0, Told, closed, interval, kinds, opened

from rundry.agent.budget.pacing import lifetime, pace, prices
from rundry.agent.protocol import (
    Again,
    Budget,
    Charged,
    ChildFinished,
    ChildStarted,
    Exhausted,
    FinderSpec,
    Finish,
    IntervalSpec,
    LoopKind,
    PacedSpec,
    PatchKept,
    Price,
    Prompted,
    Reason,
    RepeatSpec,
    RunStarted,
    Said,
    Sleeping,
    StallDetected,
    StepStarted,
    Wait,
    Woken,
    WorkResult,
)


def test_the_first_pass_begins_immediately_and_the_next_one_when_it_is_due():
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


@pytest.mark.parametrize(
    ("reasons", "ends"), [("eed", False), ("ede", False), ("dee", False), ("eee", True), ("deee", True)]
)
def test_three_searches_in_a_row_that_failed_end_a_repeat_run(reasons: str, ends: bool):
    told = Told(LoopKind.REPEAT, repeat=RepeatSpec(every=300.0, task="t", finder=FinderSpec()))
    told.tell(StepStarted(number=1))
    for number, letter in enumerate(reasons, 1):
        reason = Reason.ERROR if letter == "e" else Reason.DRY
        begun = ChildStarted(
            number=number, run_id=f"c{number}", journal="", loop=LoopKind.UNTIL_DRY, about="", title="", budget=Budget()
        )
        told.tell(
            begun,
            ChildFinished(
                number=number, run_id=f"c{number}", reason=reason, detail="no server", complete=not ends, exit_code=0
            ),
        )
    decision = told.decide(at=10.0)
    if ends:
        assert isinstance(decision, Finish) and decision.reason is Reason.ERROR
        assert decision.detail == "3 searches in a row failed: no server"
    else:
        assert not isinstance(decision, Finish)


def test_a_pass_that_overran_is_followed_immediately_and_never_met():
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


def test_a_pass_that_is_being_rolled_back_is_rolled_back_whatever_else_happened():
    told = opened(interval()).step().tell(PatchKept(number=1, why="red", patch="b", world="w"))
    assert kinds(told.decide(WorkResult(exhausted=Exhausted(resource="steps", detail="step budget")))) == ["close"]


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
