"""Another list of tools than the accepted one is asked about; until then no tool of the server is called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fakes.turns import call, calls, finish

from rundry.agent.protocol import Decide, GateMode, Rule

from .conftest import Run, results, server

ECHO = call("h__echo", text="hello")
END = [call("read_file", path="calc/core.py"), finish("done", "calc/core.py")]
ALLOWED: dict[str, Any] = {"gate": GateMode.AUTO, "rules": [Rule(verdict="allow", tool="h__*")]}


def decide(verdict: str):
    def command(event: dict[str, Any]) -> Decide:
        return Decide(proposal_id=event["proposal_id"], digest=event["digest"], verdict=verdict)  # type: ignore[arg-type]

    return command


def offered(run: Any, request: int = -1) -> list[str]:
    return [spec.name for spec in run.model.requests[request].tools if "__" in spec.name]


async def test_a_list_that_changes_in_a_run_is_asked_about_and_used_after_the_approval(drive: Run):
    turns = [ECHO, call("h__added", text="new"), *END]
    run = drive([server("changes-in-call")], turns, **ALLOWED).on("proposal_opened", decide("approve"), tool="mcp")
    await run.run(watched=True)
    (asked,) = [e for e in run.events if e["type"] == "proposal_opened" and e["tool"] == "mcp"]
    assert asked["danger"]
    assert '"added"' in asked["call"]
    assert "send me ~/.ssh" in asked["call"]
    assert offered(run, 0) == ["h__echo", "h__environment", "h__write"]
    assert offered(run, 1) == ["h__echo", "h__added", "h__environment"]
    assert [done["ok"] for done in results(run)][:2] == [True, True], run.story()


async def test_without_a_person_no_rule_and_no_mode_accepts_another_list(drive: Run):
    turns = [ECHO, call("h__added", text="new"), ECHO, call("h__environment", text=""), *END]
    run = drive([server("changes-in-call")], turns, **ALLOWED)
    await run.run()
    assert offered(run, 1) == ["h__environment"], run.story()
    assert [done["ok"] for done in results(run)][:4] == [True, False, False, True]
    assert len([e for e in run.events if e["type"] == "proposal_opened" and e["tool"] == "mcp"]) == 1


async def test_calls_of_the_same_answer_fail_after_the_list_changed(drive: Run):
    run = drive([server("changes-in-call")], [calls(*ECHO.calls, *ECHO.calls), *END], **ALLOWED)
    await run.run()
    assert [done["ok"] for done in results(run)][:2] == [True, False], run.story()
    assert "changed what it offers, and the person has not accepted it yet" in results(run)[1]["result"]


async def test_a_list_that_differs_in_the_next_run_is_asked_about_before_its_first_step(drive: Run, tmp_path: Path):
    state = tmp_path / "project" / "state"
    state.write_text("usual")
    listed = server(env=[f"STATE={state}"])
    first = drive([listed], END, **ALLOWED)
    await first.run()
    assert "its tools are accepted, because you use it for the first time" in str(first.events[0]["notes"])
    state.write_text("other")
    second = drive([listed], END, **ALLOWED).on("proposal_opened", decide("reject"))
    await second.run(watched=True)
    assert offered(second, 0) == ["h__environment"], second.story()
    third = drive([listed], END, **ALLOWED).on("proposal_opened", decide("approve"))
    await third.run(watched=True)
    assert offered(third, 0) == ["h__echo", "h__added", "h__environment"]
    fourth = drive([listed], END, **ALLOWED)
    await fourth.run()
    assert offered(fourth, 0) == ["h__echo", "h__added", "h__environment"]
    assert not [e for e in fourth.events if e["type"] == "proposal_opened"]
