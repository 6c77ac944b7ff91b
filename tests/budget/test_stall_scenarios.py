import json
from pathlib import Path

import pytest

from rundry.agent.budget.stall.observation import Call, Observation
from rundry.agent.budget.stall.stall_watch import StallVerdicts

SCENARIOS = json.loads(Path(__file__).with_name("stall.json").read_text())["scenarios"]


def observations(steps: list[dict]) -> list[str | Observation]:
    """Steps of one turn are one observation; `user` and `nudge` stay words."""
    turns: list[list[dict]] = []
    for step in steps:
        if turns and "turn" in step and turns[-1][0].get("turn") == step["turn"]:
            turns[-1].append(step)
        else:
            turns.append([step])
    return [turn[0]["kind"] if turn[0]["kind"] in ("user", "nudge") else observation(turn) for turn in turns]


def observation(turn: list[dict]) -> Observation:
    last = turn[-1]
    calls = [
        Call(
            action=step["action"],
            arguments=step["args"],
            result=step["obs"],
            ok=step["ok"],
            refused=step["obs"] == "rejected by the user",
            poll=step.get("poll", False),
        )
        for step in turn
        if step["kind"] == "tool"
    ]
    return Observation(
        calls=calls,
        text=last.get("text", ""),
        world=last.get("world"),
        score=last.get("score"),
        new=last.get("new"),
        at=last.get("t", 0.0),
    )


def verdict_of(scenario: dict) -> str:
    stalls = StallVerdicts(scenario.get("start_world"))
    verdict = "ok"
    for seen in observations(scenario["steps"]):
        if seen == "user":
            verdict = stalls.reset_after_message()
        elif seen == "nudge":
            verdict = stalls.hinted()
        else:
            verdict = stalls.observe(seen)
    return verdict


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[f"{s['id']} {s['name']}" for s in SCENARIOS])
def test_each_scenario_has_the_verdict_that_it_should(scenario):
    assert verdict_of(scenario) == scenario["verdict"], scenario["why"]
