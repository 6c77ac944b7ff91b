"""One goal run through the real command, looked at from all sides (docs/requirements.md 2.3, 10.1, 13.1)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fakes.project import CHECK, CORE, FIX_ADD, FIX_MEAN, changed_files, make_project
from fakes.rundry import Home, Ran
from fakes.server import ScriptedServer
from fakes.turns import Call, calls, say
from fakes.wire import Recorded, text_of

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import to_json_line

TURNS = [
    calls(
        Call("read_file", {"path": "calc/core.py"}),
        Call("read_file", {"path": "tests/test_core.py"}),
        text="I read the code and its tests.",
        reasoning="Two of three fail.",
        cached=40,
        reasoning_tokens=6,
    ),
    FIX_ADD,
    calls(Call("run_command", {"command": "python3 -m unittest -q"}), text="I look at what is left."),
    FIX_MEAN,
    say("never asked for"),
]
FIELDS = {
    "run_started": {"run_id", "loop", "task", "workspace", "model", "budget", "journal"},
    "step_started": {"number"},
    "step_finished": {"number"},
    "call_admitted": {"prompt_tokens", "max_tokens", "worst_usd"},
    "text_arrived": {"text"},
    "reasoning_arrived": {"text"},
    "tool_called": {"call_id", "tool", "arguments"},
    "proposal_opened": {"proposal_id", "tool", "path", "command", "diff"},
    "proposal_decided": {"proposal_id", "decision", "by", "reason"},
    "tool_finished": {"call_id", "tool", "ok", "result", "seconds"},
    "charged": {"tokens_in", "tokens_out", "tokens_cached", "tokens_reasoning", "usd", "estimated"},
    "check_finished": {"command", "passed", "exit_code", "timed_out", "failing", "output"},
    "run_ended": {
        "reason", "detail", "complete", "exit_code", "retryable", "answer", "citations", "steps", "passes", "tokens",
        "usd", "seconds", "files_changed", "seen", "findings", "failed_items", "journal",
    },
}  # fmt: skip


@dataclass
class GoalRun:
    ran: Ran
    project: Path
    requests: list[Recorded]

    @property
    def events(self) -> list[dict[str, Any]]:
        return self.ran.events

    def of_step(self, step: int) -> list[str]:
        return [e["type"] for e in self.events if e["step"] == step]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GoalRun]:
    folder = tmp_path_factory.mktemp("goal")
    project = folder / "project"
    project.mkdir()
    make_project(project)
    with ScriptedServer(TURNS) as server:
        ran = Home(folder).run(
            "run", "fix the failing suite", "--headless", "--json", "--until", CHECK, "--gate", "auto",
            "--verify", "every-step", "--model", "fake", "--api-base", server.base_url, "--price", "1/2", cwd=project,
        )  # fmt: skip
        yield GoalRun(ran, project, server.requests)


def test_the_run_is_done_when_the_suite_is_green_and_no_step_later(run: GoalRun):
    assert run.ran.exit_code == 0, run.ran
    outcome = run.ran.outcome
    assert (outcome["reason"], outcome["complete"], outcome["exit_code"], outcome["steps"]) == ("done", True, 0, 4)
    assert len(run.requests) == 4
    assert outcome["files_changed"] == ["calc/core.py"] == changed_files(run.project)
    fixed = CORE.replace("a - b", "a + b").replace("(len(values) + 1)", "len(values)")
    assert (run.project / "calc/core.py").read_text() == fixed


def test_every_event_has_its_envelope_and_its_fields(run: GoalRun):
    assert [e["seq"] for e in run.events] == sorted({e["seq"] for e in run.events})
    for event in run.events:
        assert {"seq", "at", "step", "work", "type"} <= set(event)
        assert FIELDS.get(event["type"], set()) <= set(event), event
    assert set(FIELDS) <= set(run.ran.types())
    started = run.events[0]
    assert started["type"] == "run_started"
    assert set(started["budget"]) >= {"steps", "tokens", "usd", "seconds"}
    assert (started["loop"], started["task"]) == ("goal", "fix the failing suite")
    assert Path(started["workspace"]) == run.project.resolve()
    assert run.ran.types().count("run_ended") == 1 == run.ran.types().count("run_started")


def test_the_events_of_a_step_come_in_the_order_of_what_happened(run: GoalRun):
    kinds = run.ran.types()
    assert kinds.index("check_finished") < kinds.index("step_started"), "the baseline comes before the first call"
    for step in range(1, 5):
        mine = run.of_step(step)
        order = [mine.index(k) for k in ("step_started", "call_admitted", "charged", "tool_called", "tool_finished")]
        assert order == sorted(order), mine
        assert mine[0] == "step_started"
        assert mine[-1] == "step_finished"
        assert mine.index("tool_finished") < mine.index("check_finished") < mine.index("step_finished")
        if "text_arrived" in mine:
            assert mine.index("call_admitted") < mine.index("text_arrived") < mine.index("charged")


def test_edits_and_commands_open_a_proposal_and_get_a_decision_and_reads_do_not(run: GoalRun):
    opened, decided = run.ran.of("proposal_opened"), run.ran.of("proposal_decided")
    assert [p["tool"] for p in opened] == ["edit_file", "run_command", "edit_file"]
    assert [p["proposal_id"] for p in opened] == [p["proposal_id"] for p in decided]
    assert {(p["decision"], p["by"]) for p in decided} == {("approve", "policy")}
    assert "-    return a - b" in opened[0]["diff"]
    assert "+    return a + b" in opened[0]["diff"]
    assert opened[0]["path"] == "calc/core.py"
    assert opened[1]["command"] == "python3 -m unittest -q"
    for step in (2, 3, 4):
        mine = run.of_step(step)
        places = [mine.index(k) for k in ("tool_called", "proposal_opened", "proposal_decided", "tool_finished")]
        assert places == sorted(places)


def test_every_call_is_answered_once_with_its_own_id(run: GoalRun):
    called = [e["call_id"] for e in run.ran.of("tool_called")]
    assert len(called) == len(set(called)) == 5
    assert sorted(called) == sorted(e["call_id"] for e in run.ran.of("tool_finished"))
    for request in run.requests:
        asked = [c["id"] for m in request.messages for c in m.get("tool_calls") or []]
        assert asked == [m["tool_call_id"] for m in request.messages if m["role"] == "tool"]


def test_text_and_reasoning_arrive_whole(run: GoalRun):
    text = "".join(e["text"] for e in run.ran.of("text_arrived") if e["step"] == 1)
    assert text == "I read the code and its tests."
    assert "".join(e["text"] for e in run.ran.of("reasoning_arrived")) == "Two of three fail."


def test_the_failing_count_goes_down_and_a_failed_check_reaches_the_model(run: GoalRun):
    checks = run.ran.of("check_finished")
    assert [c["failing"] for c in checks][:4] == [2, 2, 1, 1]
    assert [c["passed"] for c in checks] == [False] * 4 + [True]
    assert checks[-1]["exit_code"] == 0
    first, second, third = run.requests[:3]
    assert "test_mean" in second.text
    assert "test_mean" in text_of(third.messages[-1]), "the check's output goes back as the next message"
    assert [r.messages[-1]["role"] for r in (second, third)] == ["user", "user"]
    assert any("fix the failing suite" in text_of(m) for m in first.messages)
    assert {"read_file", "edit_file", "run_command", "finish"} <= set(first.tools)


def test_what_the_provider_billed_is_what_is_charged_and_admitted_beforehand(run: GoalRun):
    charged, admitted = run.ran.of("charged"), run.ran.of("call_admitted")
    assert len(charged) == len(admitted) == len(run.requests)
    for charge, admission, request in zip(charged, admitted, run.requests, strict=True):
        usage = request.usage
        assert (charge["tokens_in"], charge["tokens_out"]) == (usage["prompt_tokens"], usage["completion_tokens"])
        assert charge["estimated"] is False
        assert charge["usd"] == pytest.approx((usage["prompt_tokens"] * 1 + usage["completion_tokens"] * 2) / 1e6)
        assert charge["usd"] <= admission["worst_usd"]
        assert request.body.get("max_tokens", request.body.get("max_completion_tokens")) == admission["max_tokens"]
    assert charged[0]["tokens_cached"] == 40
    assert charged[0]["tokens_reasoning"] == 6
    outcome = run.ran.outcome
    assert outcome["tokens"]["in"] == sum(c["tokens_in"] for c in charged)
    assert outcome["tokens"]["out"] == sum(c["tokens_out"] for c in charged)
    assert outcome["usd"] == pytest.approx(sum(c["usd"] for c in charged))
    assert 0 < outcome["seconds"] < 120


def test_the_journal_holds_exactly_what_was_printed(run: GoalRun):
    path = Path(run.ran.outcome["journal"])
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    journal = Journal.open(path)
    try:
        assert [json.loads(to_json_line(s)) for s in journal.read()] == run.events
    finally:
        journal.close()


def test_no_traceback_and_no_noise_of_libraries_reaches_a_person(run: GoalRun):
    assert "Traceback" not in run.ran.stderr
    assert "litellm" not in run.ran.stderr.lower()
