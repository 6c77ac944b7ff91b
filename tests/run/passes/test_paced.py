"""The model picks its next delay; it is weighed against the prompt cache."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.clock import ManualClock
from fakes.in_process.driven import Driven
from fakes.in_process.simulated_hours import through_hours
from fakes.turns import call, finish

from rundry.agent.protocol import Budget, LoopKind, PacedSpec, Price, Say, Wake

Make = Callable[..., Driven]
PRICED = Price(input=3e-6, output=15e-6, cached=3e-7, worst_input=3.75e-6, worst_output=15e-6)
FLAT = Price(input=3e-6, output=15e-6, cached=3e-6, worst_input=3e-6, worst_output=15e-6)
READ = call("read_file", path="a.txt")
DONE = finish("it is there", "a.txt")


def wait(seconds: Any, reason: str = "CI takes a while"):
    return call("wake_after", seconds=seconds, reason=reason)


@pytest.fixture
def paced(driven: Make) -> Make:
    """A paced run without a check."""

    def make(*turns: Any, price: Price | None = PRICED, spec: PacedSpec | None = None, **more: Any) -> Driven:
        budget = more.pop("budget", Budget(usd=5.0))
        told = spec or PacedSpec()
        return driven(*turns, loop=LoopKind.PACED, paced=told, budget=budget, model={"price": price}, **more)

    return make


async def test_hours_of_sleep_take_milliseconds_and_nothing_of_the_time_budget(paced: Make):
    run = paced(*[turn for _ in range(6) for turn in (READ, wait(3600))], DONE)
    clock = ManualClock()
    outcome = await through_hours(run, clock)
    assert outcome.reason == "answered" and outcome.seconds < 60
    assert clock.now() - 1_800_000_000 == 6 * 3600
    assert [event["by"] for event in run.of("woken")] == ["clock"] * 6
    assert "You slept 3600 s: the delay is over." in run.heard(2)
    run.assert_legal()


async def test_a_delay_in_the_dead_zone_is_moved_and_both_prices_are_reported(paced: Make):
    run = paced(READ, wait(300), DONE)
    clock = ManualClock()
    await through_hours(run, clock)
    slept = run.of("sleeping")[0]
    assert (slept["seconds"], slept["asked"], slept["moved"]) == (270.0, 300.0, "inside")
    assert slept["why"] == "CI takes a while" and slept["warm_until"] == 1_800_000_300.0
    assert slept["cold_usd"] == pytest.approx(10 * slept["warm_usd"]) and slept["warm_usd"] > 0
    assert slept["until"] == 1_800_000_270.0


@pytest.mark.parametrize(
    ("price", "spec", "kept"),
    [
        (FLAT, PacedSpec(), 300.0),
        (FLAT, PacedSpec(ttl_asked=True), 300.0),
        (PRICED, PacedSpec(cache_ttl=None, ttl_asked=True), 300.0),
        (PRICED, PacedSpec(cache_ttl=600.0, ttl_asked=True), 300.0),
    ],
)
async def test_a_model_without_a_cache_sleeps_for_as_long_as_it_asked(
    paced: Make, price: Price, spec: PacedSpec, kept: float
):
    run = paced(READ, wait(300), DONE, price=price, spec=spec)
    await through_hours(run, ManualClock())
    assert run.of("sleeping")[0]["seconds"] == kept


@pytest.mark.parametrize(("given", "said"), [(-5, "seconds is -5"), ("soon", "seconds: expected"), (None, "seconds")])
async def test_a_delay_that_is_none_is_reported_to_the_model_and_nothing_sleeps(paced: Make, given: Any, said: str):
    run = paced(READ, wait(given), DONE)
    outcome = await run.run(clock=ManualClock())
    assert outcome.reason == "answered" and not run.of("sleeping")
    assert said in run.results("wake_after")[0]


async def test_a_person_wakes_a_sleeping_run(paced: Make):
    run = paced(READ, wait(3000), DONE).on("sleeping", Wake())
    assert (await run.run(clock=ManualClock())).reason == "answered"
    assert "the person woke you" in run.heard(-1)


async def test_a_message_wakes_a_sleeping_run_and_reaches_the_model(paced: Make):
    run = paced(READ, wait(3000), DONE).on("sleeping", Say(text="it is green already"))
    assert (await run.run(clock=ManualClock())).reason == "answered"
    assert "it is green already" in run.heard(-1) and run.of("woken")[0]["by"] == "message"


async def test_wake_while_nothing_sleeps_is_refused_with_the_reason(paced: Make):
    run = paced(READ, DONE).on("step_started", Wake())
    await run.run(clock=ManualClock())
    assert run.of("command_refused")[0]["why"] == "the run neither sleeps nor waits"


async def test_a_runner_killed_in_its_sleep_sleeps_only_for_the_rest(paced: Make):
    run = paced(READ, wait(3000), DONE)
    await through_hours(run, ManualClock())
    other = run.killed_at("sleeping")
    other.model = type(run.model)([DONE], price=PRICED)
    clock = ManualClock(1_800_000_000.0 + 1000)
    assert (await through_hours(other, clock)).reason == "answered"
    assert other.of("sleeping")[0]["seconds"] == pytest.approx(2000.0)
    other.assert_legal()


async def test_the_check_ends_it_instead_of_a_sleep(paced: Make, work: Path):
    write = call("write_file", path="ok.txt", content="ok\n")
    run = paced(call("read_file", path="a.txt"), write, until=["test -f ok.txt"])
    outcome = await run.run(clock=ManualClock())
    assert outcome.reason == "done" and outcome.steps == 2
