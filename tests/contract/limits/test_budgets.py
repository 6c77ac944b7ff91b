"""Limits hold, say so, and leave room for a last word (docs/requirements.md 3)."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from fakes.in_process.headless_run import play, resume_run
from fakes.project import CHECK, read
from fakes.server import ScriptedServer
from fakes.turns import Turn, call, say
from sampling import sampled

from rundry.agent.protocol import Budget, LoopKind, Predicates
from rundry.agent.run.client.start_request import ResumeChanges

READS = [read("calc/core.py"), read("NOTES.md"), read("tests/test_core.py"), read(".gitignore")]


async def test_a_token_limit_is_never_passed_and_the_wrap_up_fits_inside(runs: Path, project: Path):
    turns = [*READS, Turn(tokens=5000)]
    with ScriptedServer(turns) as server:
        ran = await play(runs, server, project, until=[CHECK], budget=Budget(tokens=13_000))
    outcome = ran.outcome
    assert (outcome["reason"], outcome["limit"], ran.exit_code) == ("budget", "tokens", 3), ran.story()
    assert "token" in outcome["detail"]
    assert "13,000" in outcome["detail"] or "13000" in outcome["detail"]
    billed = sum(r.usage["total_tokens"] for r in server.requests)
    assert outcome["tokens"]["in"] + outcome["tokens"]["out"] == billed <= 13_000
    assert outcome["complete"] is False
    assert server.requests[-1].body.get("tool_choice") == "none" or not server.requests[-1].tools
    assert outcome["answer"], ran.story()


async def test_a_dollar_limit_is_never_passed_and_the_reason_names_the_sums(runs: Path, project: Path):
    with ScriptedServer([*READS, *READS, Turn(tokens=300)]) as server:
        ran = await play(runs, server, project, until=[CHECK], budget=Budget(usd=0.05), price=(5.0, 15.0))
    outcome = ran.outcome
    assert (outcome["reason"], outcome["limit"]) == ("budget", "usd"), ran.story()
    assert "0.05" in outcome["detail"]
    assert 0 < outcome["usd"] <= 0.05
    assert outcome["usd"] == pytest.approx(sum(c["usd"] for c in ran.of("charged")))


async def test_a_time_limit_cuts_the_stream_and_still_allows_a_wrap_up(runs: Path, project: Path):
    turns = [Turn(text="thinking on and on", hold_after=2), say("I ran out of time.")]
    with ScriptedServer(turns) as server:
        ran = await play(runs, server, project, until=["false"], budget=Budget(seconds=3.0))
    outcome = ran.outcome
    assert (outcome["reason"], outcome["answer"]) == ("budget", "I ran out of time."), ran.story()
    assert outcome["limit"] == "seconds"
    assert "time" in outcome["detail"] or "second" in outcome["detail"]
    assert outcome["seconds"] < 6
    assert server.requests[0].closed_early


async def test_a_command_gets_no_more_time_than_is_left(runs: Path, project: Path):
    with ScriptedServer([call("run_command", command="sleep 60"), say("too slow")]) as server:
        ran = await play(runs, server, project, until=["false"], budget=Budget(seconds=3.0))
    assert ran.outcome["reason"] == "budget", ran.story()
    assert "timed out" in ran.results("run_command")[0]
    assert ran.outcome["seconds"] < 8


async def test_a_limit_that_allows_not_even_one_call_stops_before_it(runs: Path, project: Path):
    with ScriptedServer() as server:
        ran = await play(runs, server, project, until=["false"], budget=Budget(tokens=50))
    assert (ran.outcome["reason"], ran.outcome["steps"]) == ("budget", 0), ran.story()
    assert server.requests == []


async def test_a_run_that_stopped_on_a_budget_continues_once_the_limit_is_raised(runs: Path, project: Path):
    made = Predicates(until=["test -f done"], scope=["done"])
    with ScriptedServer([*READS[:2], say("two steps were not enough")]) as server:
        first = await play(runs, server, project, predicates=made, budget=Budget(steps=2))
    assert (first.outcome["reason"], first.outcome["limit"]) == ("budget", "steps"), first.story()
    last = first.events[-1]["seq"]
    turns = [call("write_file", path="done", content="yes\n")]
    with ScriptedServer(turns, port=server.port) as again:
        ran = await resume_run(first.path, changes=ResumeChanges(limits={"steps": 5}))
    assert ran.events[0]["type"] == "run_resumed"
    assert ran.events[0]["from_seq"] == last
    assert (ran.outcome["reason"], ran.outcome["steps"]) == ("done", 3), ran.story()
    assert ran.outcome["tokens"]["in"] > first.outcome["tokens"]["in"]
    texts = again.requests[0].text
    assert "The suite is red" in texts, "the conversation goes on where it was"


async def test_a_cut_stream_counts_at_its_worst_case_and_is_shown_as_an_estimate(runs: Path, project: Path):
    turns = [Turn(text="one two three four five six", drop_after=3), call("write_file", path="done", content="x")]
    with ScriptedServer(turns) as server:
        ran = await play(runs, server, project, predicates=Predicates(until=["test -f done"], scope=["done"]))
    assert ran.outcome["reason"] == "done", ran.story()
    cut, whole = ran.of("charged")
    assert cut["estimated"] is True
    assert cut["tokens_out"] < 20
    admitted = ran.of("call_admitted")[0]
    assert (
        cut["tokens_in"] + cut["tokens_out"] + cut["held_tokens"] >= admitted["prompt_tokens"] + admitted["max_tokens"]
    )
    assert whole["estimated"] is False


@pytest.mark.parametrize("seed", sampled(range(8), 3))
async def test_no_limit_is_passed_whatever_an_honest_provider_bills(runs: Path, project: Path, seed: int):
    rng = random.Random(seed)
    turns = [
        Turn(
            tokens=rng.choice([5, 60, 700, 6000]),
            calls=() if rng.random() < 0.4 else rng.choice(READS).calls,
            cached=rng.choice([0, 0, 300]),
            reasoning_tokens=0,
        )
        for _ in range(12)
    ]
    limit = Budget(steps=10, tokens=rng.randrange(3_000, 30_000), usd=rng.uniform(0.01, 0.2))
    with ScriptedServer(turns, prompt_factor=rng.uniform(0.6, 1.1)) as server:
        ran = await play(runs, server, project, loop=LoopKind.GOAL, until=["false"], budget=limit, price=(3.0, 12.0))
    billed = sum(r.usage["total_tokens"] for r in server.requests)
    assert limit.tokens is not None
    assert limit.usd is not None
    assert billed <= limit.tokens, ran.story()
    usd = sum(3e-6 * r.usage["prompt_tokens"] + 12e-6 * r.usage["completion_tokens"] for r in server.requests)
    assert usd <= limit.usd, ran.story()
    assert ran.outcome["usd"] <= limit.usd
