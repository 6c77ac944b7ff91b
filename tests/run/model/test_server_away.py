"""How long a run waits for a server that refuses calls or is away, and what a person can do then (requirements 8.3)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from fakes.clock import ManualClock
from fakes.in_process.driven import Driven
from fakes.models.model import ScriptedModel
from fakes.turns import Turn, call, finish

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import (
    Budget,
    ModelFault,
    ModelSpec,
    Outcome,
    Pause,
    Request,
    SetLimit,
    Stop,
    SwitchModel,
    Unpause,
)

READ = call("read_file", path="a.txt")
DONE = finish("all is well", "a.txt:1")
OTHER = ModelSpec(name="other")


def away() -> ModelFault:
    return ModelFault("server", "cannot connect to the server", retryable=True)


def limited(seconds: float) -> ModelFault:
    return ModelFault("rate-limit", "slow down", retryable=True, status=429, retry_after=seconds)


class Outage(ScriptedModel):
    """A model whose server is away for some seconds from its first call on."""

    def __init__(self, clock: ManualClock, seconds: float, *turns: Any) -> None:
        super().__init__()
        self.clock, self.seconds, self.later = clock, seconds, list(turns)
        self.first: float | None = None

    def choose(self, request: Request) -> Turn | ModelFault:
        self.first = self.clock.monotonic() if self.first is None else self.first
        return away() if self.clock.monotonic() < self.first + self.seconds else self.later.pop(0)


async def played(run: Driven, clock: ManualClock, **how: Any) -> Outcome:
    """Drive the run; its waits before retries end immediately, all other time stands still."""
    running = asyncio.ensure_future(run.run(clock=clock, **how))
    try:
        over = 0
        while not running.done():
            slept = len(clock.slept)
            asked = asyncio.ensure_future(clock.until_asked(slept + 1))
            await asyncio.wait({running, asked}, return_when=asyncio.FIRST_COMPLETED)
            asked.cancel()
            waits = [event["retry_in"] for event in run.of("fault") if event["retry_in"]]
            if len(waits) > over and waits[-1] in clock.slept[-3:]:
                over = len(waits)
                clock.tick(waits[-1])
        return running.result()
    finally:
        running.cancel()


def waits(run: Driven) -> list[float]:
    return [event["retry_in"] for event in run.of("fault") if event["retry_in"] is not None]


@pytest.mark.parametrize("seconds", [8, 50, 500])
async def test_a_server_that_comes_back_ends_the_wait_and_the_step_continues(driven, seconds):
    clock = ManualClock()
    run = driven(budget=Budget(seconds=None))
    run.model = Outage(clock, seconds, READ, DONE)
    outcome = await played(run, clock)
    assert (outcome.reason, outcome.steps) == ("answered", 2), run.story()
    assert seconds <= sum(waits(run)) < seconds + 15
    assert all(wait <= 15 for wait in waits(run))
    assert run.of("paused") == []


async def test_without_anybody_to_ask_the_wait_ends_after_ten_minutes_with_75(driven):
    clock = ManualClock()
    run = driven(budget=Budget(seconds=None))
    run.model = Outage(clock, 1e9)
    outcome = await played(run, clock)
    assert (outcome.reason, outcome.exit_code, outcome.retryable) == ("error", 75, True), run.story()
    assert sum(waits(run)) == pytest.approx(600, abs=1)
    assert "cannot connect to the server (waited 10 min)" in outcome.detail


@pytest.mark.parametrize(("limit", "most"), [(40, 10), (400, 100), (10_000, 600)])
async def test_a_wait_takes_at_most_a_quarter_of_the_time_left(driven, limit, most):
    clock = ManualClock()
    run = driven(READ, budget=Budget(seconds=limit))
    run.model = Outage(clock, 1e9, READ)
    outcome = await played(run, clock)
    assert outcome.exit_code == 75, run.story()
    assert sum(waits(run)) == pytest.approx(most, rel=0.1)


async def test_a_long_wait_that_a_provider_asks_for_is_kept_without_anybody_to_ask(driven):
    clock = ManualClock()
    run = driven(limited(420), READ, DONE, budget=Budget(seconds=None))
    outcome = await played(run, clock)
    assert (outcome.reason, waits(run)) == ("answered", [420]), run.story()


@pytest.mark.parametrize(("asked", "limit"), [(601, None), (300, 1000)])
async def test_a_wait_that_is_too_long_is_not_begun(driven, asked, limit):
    clock = ManualClock()
    run = driven(limited(asked), READ, DONE, budget=Budget(seconds=limit))
    outcome = await played(run, clock)
    assert (outcome.exit_code, waits(run)) == (75, []), run.story()


async def test_one_outage_is_waited_for_once_and_not_in_each_call(driven):
    clock = ManualClock()
    run = driven(READ, DONE)
    faults = [limited(50)] * 3
    run.model = ScriptedModel([*faults, READ, *faults, DONE])
    outcome = await played(run, clock)
    assert outcome.reason == "answered", run.story()
    assert waits(run) == [50] * 6, "an answer in between begins a new outage"


async def test_a_cut_answer_may_be_billed_and_gets_three_more_tries(driven):
    clock = ManualClock()
    run = driven(ModelFault("cut", "the answer broke off", retryable=True))
    outcome = await played(run, clock)
    assert (outcome.exit_code, len(run.model.requests)) == (75, 4), run.story()


async def test_the_last_answer_of_a_run_gets_only_three_more_tries(driven):
    clock = ManualClock()
    run = driven(READ, away(), budget=Budget(steps=1, seconds=None))
    outcome = await played(run, clock)
    assert (outcome.reason, len(run.model.requests)) == ("budget", 5), run.story()
    assert sum(waits(run)) < 8


async def test_a_person_is_asked_after_a_minute_and_their_answer_tries_again(driven):
    clock = ManualClock()
    run = driven(READ, DONE).on("paused", Unpause())
    run.model = Outage(clock, 61, READ, DONE)
    outcome = await played(run, clock, watched=True, headless=False)
    assert (outcome.reason, outcome.steps) == ("answered", 2), run.story()
    (paused,) = run.of("paused")
    assert paused["by"] == "program"
    assert "waited 60 s" in paused["why"] and "Continue to try again" in paused["why"]
    assert sum(waits(run)[:-1]) < 61 <= sum(waits(run))


async def test_a_person_is_asked_about_a_long_wait_and_sees_until_when(driven):
    clock = ManualClock()
    run = driven(limited(420), READ, DONE).on("paused", Unpause())
    outcome = await played(run, clock, watched=True, headless=False)
    assert (outcome.reason, waits(run)) == ("answered", []), run.story()
    (paused,) = run.of("paused")
    assert "slow down (until " in paused["why"]


async def test_waits_of_a_minute_are_kept_while_a_person_looks_on(driven):
    clock = ManualClock()
    run = driven(limited(60), limited(60), limited(60), READ, DONE)
    outcome = await played(run, clock, watched=True, headless=False)
    assert (outcome.reason, waits(run), run.of("paused")) == ("answered", [60] * 3, []), run.story()


async def test_a_person_who_is_asked_can_stop(driven):
    clock = ManualClock()
    run = driven(READ).on("paused", Stop(how="now"))
    run.model = Outage(clock, 1e9, READ)
    outcome = await played(run, clock, watched=True, headless=False)
    assert (outcome.reason, outcome.exit_code) == ("user", 130), run.story()


async def test_a_person_who_is_asked_can_switch_the_model(driven):
    clock = ManualClock()
    run = driven(READ).on("paused", SwitchModel(model=OTHER), Unpause())
    run.model = Outage(clock, 1e9, READ)
    models = {"scripted": run.model, "other": ScriptedModel([READ, DONE], name="other")}
    run.open_model = lambda spec: models[spec.name]
    outcome = await played(run, clock, watched=True, headless=False)
    assert (outcome.reason, outcome.steps) == ("answered", 2), run.story()


@pytest.mark.parametrize(
    ("commands", "reason"),
    [
        ([Stop(how="now")], "user"),
        ([Stop(how="wrap_up")], "user"),
        ([Unpause()], "answered"),
        ([Pause(), Unpause()], "answered"),
        ([SwitchModel(model=OTHER)], "answered"),
        ([SetLimit(name="deadline", value=1.0)], "budget"),
    ],
    ids=["stop", "wrap up", "try now", "pause", "model", "limit"],
)
async def test_a_command_during_a_wait_is_obeyed_immediately(driven, commands, reason):
    clock = ManualClock()
    run = driven(limited(100), READ, DONE).on("fault", *commands)
    models = {"scripted": run.model, "other": ScriptedModel([READ, DONE], name="other")}
    run.open_model = lambda spec: models[spec.name]
    outcome = await run.run(clock=clock)  # this clock stands still
    assert outcome.reason == reason, run.story()


@pytest.mark.parametrize("now", [True, False])
async def test_a_pause_holds_a_wait_and_continuing_tries_again(driven, now):
    clock = ManualClock()
    run = driven(limited(100), READ, DONE).on("fault", Pause(now=now)).on("paused", Unpause())
    outcome = await run.run(clock=clock)
    assert outcome.reason == "answered", run.story()


async def test_a_paused_run_does_not_try_again_before_it_is_continued(driven):
    clock = ManualClock()
    run = driven(limited(5), READ, DONE).on("fault", Pause())
    running = asyncio.ensure_future(run.run(clock=clock))
    async with asyncio.timeout(20):
        while not run.of("paused"):
            await asyncio.sleep(0.01)
    await clock.advance(100)
    assert len(run.model.requests) == 1
    view = Journal.open(run.path)
    view.inbox.put(Unpause())
    view.close()
    assert (await running).reason == "answered", run.story()
