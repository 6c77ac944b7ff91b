"""What a call that was cut may have cost stays booked, and the end names it (docs/requirements.md 3.7)."""

from __future__ import annotations

import pytest
from fakes.turns import Turn, call, finish, say

from rundry.agent.host.real_clock import SystemClock
from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import Budget, Spent, Steer, Stop, Tokens
from rundry.agent.run.children.share import share_of
from rundry.agent.state.facts.run_facts import fold

READ = call("read_file", path="a.txt")
DONE = finish("all is well", "a.txt:1")


class Hurrying(SystemClock):
    """A wall clock on which two minutes pass between two looks at it."""

    def __init__(self) -> None:
        self._looks = 0

    def now(self) -> float:
        self._looks += 1
        return super().now() + 120.0 * self._looks


def assert_held(run, admitted: dict) -> None:
    """The worst case of that call still counts at the end, and the outcome names the part above the estimate."""
    ended, (cut,) = run.of("run_ended")[-1], [each for each in run.of("charged") if each["is_cut"]]
    booked = cut["tokens_in"] + cut["tokens_out"]
    assert ended["held"]["cut_calls"] == 1
    assert ended["held"]["tokens"] == cut["held_tokens"] == admitted["worst_tokens"] - booked > 0
    assert run.of("hold_released") == []


async def test_a_call_that_a_kill_cut_is_held_however_long_the_run_continues(driven):
    run = driven(READ, say("a long answer " * 20), *[READ] * 3, DONE)
    await run.run()
    killed = run.killed_at("call_admitted", nth=2)
    killed.model = type(run.model)([READ, READ, DONE])
    await killed.run(clock=Hurrying())
    assert_held(killed, run.of("call_admitted")[1])
    journal = Journal.open(killed.path)
    spent = fold(journal.spec, journal.read()).spent
    journal.close()
    assert spent.counted_tokens - spent.tokens.total == killed.of("run_ended")[-1]["held"]["tokens"]


async def test_a_stream_that_broke_is_held_however_long_the_run_continues(driven):
    run = driven(READ, say("one two three four five six", drop_after=3), READ, READ, DONE)
    await run.run(clock=Hurrying())
    assert_held(run, run.of("call_admitted")[1])


async def test_a_call_that_a_person_interrupted_is_held_however_long_the_run_continues(driven):
    run = driven(READ, Turn(text="on and on and on", hold_after=2), READ, READ, DONE)
    run.on("text_arrived", Steer(text="shorter"))
    await run.run(clock=Hurrying(), watched=True)
    assert_held(run, run.of("call_admitted")[1])


async def test_what_is_held_ends_a_run_before_its_limit_could_be_passed(driven):
    run = driven(Turn(text="on and on and on", hold_after=2), then=READ, budget=Budget(tokens=9_000, steps=30))
    run.on("text_arrived", Steer(text="shorter"))
    outcome = await run.run(clock=Hurrying(), watched=True)
    spent = run.facts().spent
    assert (outcome.reason, outcome.limit) == ("budget", "tokens"), run.story()
    assert outcome.held.tokens == spent.held_tokens > 1_000
    assert spent.counted_tokens <= 9_000


async def test_a_run_without_a_cut_call_holds_nothing(driven):
    run = driven(READ, DONE)
    outcome = await run.run()
    assert not outcome.held


async def test_a_stop_in_the_middle_of_a_call_holds_it(driven):
    run = driven(READ, Turn(text="on and on and on", hold_after=2), say("half of it"))
    run.on("text_arrived", Stop(how="now"))
    outcome = await run.run(watched=True)
    assert (outcome.reason, outcome.held.cut_calls) == ("user", 1)


def test_a_child_run_gets_no_share_of_what_is_held_for_a_cut_call():
    spent = Spent(steps=4, tokens=Tokens(10_000, 2_000), held_tokens=8_000, usd=0.2, held_usd=0.3, seconds=100.0)
    share = share_of(Budget(steps=10, tokens=60_000, usd=1.5, seconds=None, deadline=9.0), spent, 2)
    assert (share.steps, share.tokens, share.seconds, share.deadline) == (3, 20_000, None, 9.0)
    assert share.usd == pytest.approx(0.5)
