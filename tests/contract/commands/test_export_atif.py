"""`rundry export --format atif`: what Harbor's model of a trajectory demands, and what a reader of one looks for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.project import CHECK, FIX_ADD, FIX_MEAN
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import finish

from rundry.agent import (
    CallAdmitted,
    Charged,
    Fault,
    Stamped,
    TextArrived,
    ToolCalled,
    ToolFinished,
)
from rundry.tui.export.atif import atif_lines

AGENT_ONLY = {"model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics"}
CHARGE = Charged(tokens_in=10, tokens_out=2, tokens_cached=4, usd=0.5)
ADMITTED = CallAdmitted(prompt_tokens=10, max_tokens=9, worst_usd=None, model="fake")


def problems_of(trajectory: dict[str, Any]) -> list[str]:
    """Return each rule of ATIF that a trajectory breaks: those that Harbor's own model checks."""
    steps = trajectory["steps"]
    found = [] if steps and {"name", "version"} <= trajectory["agent"].keys() else ["no steps or no agent"]
    if [step["step_id"] for step in steps] != list(range(1, len(steps) + 1)):
        found.append("steps are not numbered from 1")
    for step in steps:
        calls = {call["tool_call_id"] for call in step.get("tool_calls", ())}
        answered = [result["source_call_id"] for result in step.get("observation", {"results": []})["results"]]
        if not set(answered) <= calls:
            found.append(f"step {step['step_id']}: a result of no call")
        if step["source"] != "agent" and AGENT_ONLY & step.keys():
            found.append(f"step {step['step_id']}: fields of an agent")
        if not all(isinstance(call["arguments"], dict) for call in step.get("tool_calls", ())):
            found.append(f"step {step['step_id']}: arguments are not an object")
    return found


def folded(*events: Any, work: str | None = None) -> dict[str, Any]:
    (line,) = atif_lines(Stamped(number, 1_790_000_000.0, 1, work, event) for number, event in enumerate(events, 1))
    trajectory = json.loads(line)
    assert problems_of(trajectory) == []
    return trajectory


def run_and_export(home: Home, project: Path) -> tuple[str, dict[str, Any]]:
    """Return the id of a run that repairs the project, and its trajectory."""
    with ScriptedServer([FIX_ADD, FIX_MEAN, finish("fixed", "calc/core.py")]) as server:
        words = ["--gate", "auto", "--until", CHECK, "--model", "fake", "--api-base", server.base_url]
        ran = home.run("run", "fix it", "--headless", "--json", *words, cwd=project)
    assert ran.exit_code == 0, ran
    return ran.events[0]["run_id"], json.loads(home.run("export", "--format", "atif", cwd=project).stdout)


@pytest.mark.long
def test_a_run_is_a_trajectory_with_its_calls_results_and_tokens(home: Home, project: Path):
    run_id, trajectory = run_and_export(home, project)
    assert problems_of(trajectory) == []
    assert trajectory["session_id"] == run_id
    assert [step["message"] for step in trajectory["steps"] if step["source"] == "user"] == ["fix it"]
    agent = [step for step in trajectory["steps"] if step["source"] == "agent"]
    assert [call["function_name"] for step in agent for call in step["tool_calls"]] == ["edit_file"] * 2
    assert all("calc/core.py changed" in step["observation"]["results"][0]["content"] for step in agent)
    totals = trajectory["final_metrics"]
    assert totals["total_steps"] == len(trajectory["steps"])
    assert totals["total_prompt_tokens"] == sum(step["metrics"]["prompt_tokens"] for step in agent) > 0
    outcome = trajectory["extra"]["outcome"]
    assert (outcome["reason"], outcome["exit_code"], outcome["grade"]) == ("done", 0, "judged")


@pytest.mark.long
def test_harbor_reads_the_trajectory_without_loss(home: Home, project: Path):
    models = pytest.importorskip("harbor.models.trajectories", reason="Harbor is not installed")
    _, trajectory = run_and_export(home, project)
    assert models.Trajectory.model_validate(trajectory).to_json_dict() == trajectory


def test_calls_that_ran_side_by_side_keep_their_own_results():
    trajectory = folded(
        ADMITTED,
        ToolCalled(call_id="a", tool="read_file", arguments={"path": "x"}),
        ToolCalled(call_id="b", tool="read_file", arguments="{broken"),
        CHARGE,
        ADMITTED,
        ToolFinished(call_id="b", tool="read_file", ok=False, result="not JSON"),
        ToolFinished(call_id="a", tool="read_file", ok=True, result="text"),
    )
    (step,) = trajectory["steps"]
    assert [call["arguments"] for call in step["tool_calls"]] == [{"path": "x"}, {"text": "{broken"}]
    assert [result["source_call_id"] for result in step["observation"]["results"]] == ["b", "a"]


def test_a_call_that_failed_and_was_repeated_is_one_step_and_all_its_cost():
    trajectory = folded(
        ADMITTED, Fault(kind="server", text="503"), ADMITTED, TextArrived(text="Hel"), TextArrived(text="lo"), CHARGE
    )
    assert [step["message"] for step in trajectory["steps"]] == ["Hello"]
    assert trajectory["final_metrics"]["total_cost_usd"] == 0.5


def test_a_price_that_is_not_known_is_left_out():
    totals = folded(ADMITTED, CHARGE, ADMITTED, Charged(tokens_in=1, tokens_out=1, usd=None))["final_metrics"]
    assert totals["total_prompt_tokens"] == 11
    assert "total_cost_usd" not in totals


def test_what_a_person_in_control_calls_is_not_a_step():
    called = ToolCalled(call_id="p", tool="run_command", arguments={"command": "ls"}, by="person")
    finished = ToolFinished(call_id="p", tool="run_command", ok=True, result="x", by="person")
    trajectory = folded(ADMITTED, TextArrived(text="Hi"), CHARGE, called, finished)
    assert "tool_calls" not in trajectory["steps"][0]
    assert "observation" not in trajectory["steps"][0]


def test_a_journal_without_messages_still_has_a_step():
    assert folded()["steps"] == [{"step_id": 1, "source": "user", "message": ""}]
