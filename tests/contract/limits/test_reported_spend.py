"""What is booked is what the provider reports, complete or not, and a limit holds for it (docs/requirements.md 3.2)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fakes.in_process.headless_run import play
from fakes.project import read
from fakes.server import ScriptedServer
from fakes.turns import Turn, say

from rundry.agent.protocol import Budget

READS = [read("calc/core.py"), read("NOTES.md"), read("tests/test_core.py"), read(".gitignore")] * 9


def reporting(**usage: Any) -> list[Turn]:
    """Answers that all report this usage."""
    return [Turn(calls=turn.calls, usage=usage) for turn in READS]


def charged(ran: Any) -> int:
    return sum(each["tokens_in"] + each["tokens_out"] for each in ran.of("charged"))


async def test_a_server_that_reports_only_the_total_never_passes_the_token_limit(runs: Path, project: Path):
    with ScriptedServer(reporting(total_tokens=13_000)) as server:
        ran = await play(runs, server, project, until=["false"], budget=Budget(tokens=60_000))
    reported = 13_000 * len(server.requests)
    assert ran.outcome["reason"] == "budget", ran.story()
    assert charged(ran) == ran.outcome["tokens"]["in"] + ran.outcome["tokens"]["out"] == reported <= 60_000, ran.story()


@pytest.mark.parametrize(
    ("usage", "least"),
    [
        ({"prompt_tokens": 0, "completion_tokens": 900}, 900),
        ({"prompt_tokens": 5_000, "completion_tokens": 0}, 5_000),
        ({"prompt_tokens": 5_000, "completion_tokens": -3, "total_tokens": 9_000}, 9_000),
        ({"completion_tokens": 70, "total_tokens": 9_000}, 9_000),
        ({"prompt_tokens": 5_000, "completion_tokens": 70, "total_tokens": 9_000}, 9_000),
        ({"prompt_tokens": 100, "completion_tokens": 70, "prompt_tokens_details": {"cached_tokens": 6_000}}, 6_070),
        ({"total_tokens": 3}, 0),
    ],
)
async def test_the_larger_of_what_is_reported_and_of_our_count_where_a_part_is_missing_is_booked(
    runs: Path, project: Path, usage: dict[str, Any], least: int
):
    with ScriptedServer(reporting(**usage)) as server:
        ran = await play(runs, server, project, until=["false"], budget=Budget(steps=1))
    first, admitted = ran.of("charged")[0], ran.of("call_admitted")[0]
    assert first["tokens_in"] + first["tokens_out"] >= least, first
    assert first["tokens_in"] >= (usage.get("prompt_tokens") or admitted["prompt_tokens"])
    assert first["tokens_out"] > 0
    known = {"prompt_tokens", "completion_tokens", "total_tokens"} & {n for n, v in usage.items() if v and v != -3}
    assert first["estimated"] is (len(known) < 2)


async def test_where_the_prompt_is_not_reported_its_margin_is_held(runs: Path, project: Path):
    with ScriptedServer(reporting(completion_tokens=20)) as server:
        ran = await play(runs, server, project, until=["false"], budget=Budget(steps=1), price=(3.0, 12.0))
    first, admitted = ran.of("charged")[0], ran.of("call_admitted")[0]
    assert first["tokens_in"] == admitted["prompt_tokens"]
    assert first["held_tokens"] == admitted["worst_tokens"] - admitted["max_tokens"] - admitted["prompt_tokens"]
    assert first["held_usd"] == pytest.approx(3e-6 * first["held_tokens"])


async def test_where_only_the_sum_is_reported_no_margin_is_held(runs: Path, project: Path):
    with ScriptedServer(reporting(total_tokens=3)) as server:
        ran = await play(runs, server, project, until=["false"], budget=Budget(steps=1), price=(3.0, 12.0))
    first = ran.of("charged")[0]
    assert (first["held_tokens"], first["held_usd"]) == (0, 0.0)


async def test_the_cost_that_a_provider_reports_is_booked(runs: Path, project: Path):
    usage = {"prompt_tokens": 900, "completion_tokens": 100, "cost": {"request_cost": 0.005, "total_cost": 0.0059}}
    with ScriptedServer(reporting(**usage)) as server:
        ran = await play(runs, server, project, until=["false"], budget=Budget(steps=3), price=(1.0, 1.0))
    each = ran.of("charged")
    assert len(each) == len(server.requests) == 4
    assert [(one["usd"], one["reported_usd"]) for one in each] == [(0.0059, 0.0059)] * 4
    assert [one["listed_usd"] for one in each] == [pytest.approx(0.001)] * 4
    assert ran.outcome["usd"] == pytest.approx(4 * 0.0059)


async def test_a_cost_that_is_reported_for_a_server_without_a_price_is_booked(runs: Path, project: Path):
    usage = {"prompt_tokens": 900, "completion_tokens": 100, "cost": "0.25"}
    with ScriptedServer(reporting(**usage)) as server:
        ran = await play(runs, server, project, until=["false"], budget=Budget(steps=30, usd=2.0))
    assert (ran.outcome["reason"], ran.outcome["limit"]) == ("budget", "usd"), ran.story()
    assert ran.outcome["usd"] == pytest.approx(0.25 * len(server.requests)) and ran.outcome["usd"] <= 2.0


async def test_a_lower_bill_is_booked_but_not_a_fee_or_a_zero_in_place_of_the_bill(runs: Path, project: Path):
    costs = [0.0004, 0.0, 0.00005]
    turns = [
        Turn(calls=turn.calls, usage={"prompt_tokens": 900, "completion_tokens": 100, "cost": cost})
        for turn, cost in zip(READS, costs, strict=False)
    ]
    with ScriptedServer(turns) as server:
        ran = await play(runs, server, project, until=["false"], budget=Budget(steps=3), price=(1.0, 1.0))
    assert [one["usd"] for one in ran.of("charged")[:3]] == [0.0004, pytest.approx(0.001), pytest.approx(0.001)]


@pytest.mark.parametrize(("fee", "factor"), [(0.011, 1.0), (0.0, 8.0)])
async def test_a_dollar_limit_holds_for_costs_above_the_price_once_one_was_reported(
    runs: Path, project: Path, fee: float, factor: float
):
    def usage(prompt: int) -> dict[str, Any]:
        listed = 1e-6 * prompt + 1e-6 * 100
        return {"prompt_tokens": prompt, "completion_tokens": 100, "cost": fee + factor * listed}

    turns = [Turn(calls=turn.calls, usage=usage(900 + 700 * n)) for n, turn in enumerate(READS)]
    with ScriptedServer(turns, then=say("done")) as server:
        ran = await play(runs, server, project, until=["false"], budget=Budget(steps=36, usd=0.1), price=(1.0, 1.0))
    paid = sum(one["reported_usd"] or 0.0 for one in ran.of("charged"))
    assert ran.outcome["limit"] == "usd", ran.story()
    assert len(server.requests) > 4 and 0.04 < paid <= 0.1, (paid, ran.story())


async def test_usage_reported_before_a_failure_is_booked(runs: Path, project: Path):
    raw = (
        b'data: {"choices": [], "usage": {"prompt_tokens": 9000, "completion_tokens": 400}}\n\n'
        b'data: {"error": {"message": "the engine crashed", "type": "server_error"}}\n\n'
    )
    with ScriptedServer([Turn(raw=raw), READS[0]]) as server:
        ran = await play(runs, server, project, until=["false"], budget=Budget(steps=1))
    first, admitted = ran.of("charged")[0], ran.of("call_admitted")[0]
    assert (first["tokens_in"], first["tokens_out"], first["is_cut"]) == (9_000, 400, True), ran.story()
    assert admitted["prompt_tokens"] < 9_000
