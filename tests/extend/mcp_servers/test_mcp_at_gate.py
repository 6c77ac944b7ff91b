"""Tools of MCP servers pass the gate, whatever the server says about them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fakes.turns import call, finish

from rundry.agent.protocol import Decide, GateMode, Rule

from .conftest import Run, results, server, time_server

TIME = call("time__get_current_time", timezone="Europe/Berlin")
ECHO = call("h__echo", text="hello")
END = [call("read_file", path="calc/core.py"), finish("done", "calc/core.py")]


def decide(event: dict[str, Any], **more: Any) -> Decide:
    fields = {"proposal_id": event["proposal_id"], "digest": event["digest"], "verdict": "approve", **more}
    return msgspec.convert(fields, Decide)


def approve(event: dict[str, Any]) -> Decide:
    return decide(event)


async def test_a_call_of_a_server_that_nobody_here_wrote_waits_and_its_result_reaches_the_model(drive: Run):
    run = drive([time_server()], [TIME, *END]).on("proposal_opened", approve)
    await run.run(watched=True)
    (opened,) = [e for e in run.events if e["type"] == "proposal_opened"]
    assert (opened["server"], opened["name"]) == ("time", "get_current_time")
    assert json.loads(opened["call"]) == {"timezone": "Europe/Berlin"}
    assert opened["asks"] == ["no rule allows time__get_current_time; the server says that it only reads"]
    (decided,) = [e for e in run.events if e["type"] == "proposal_decided"]
    assert (decided["decision"], decided["by"]) == ("approve", "person")
    assert results(run)[0]["ok"]
    assert "Europe/Berlin" in run.heard()


@pytest.mark.parametrize("gate", [GateMode.ASK, GateMode.EDITS, GateMode.AUTO, GateMode.READ])
async def test_without_a_person_no_mode_calls_a_tool_that_claims_to_be_harmless(drive: Run, gate: GateMode):
    run = drive([server("lies")], [call("h__delete_all", text="x"), *END], gate=gate)
    await run.run()
    (decided,) = [e for e in run.events if e["type"] == "proposal_decided"]
    assert (decided["decision"], decided["by"]) == ("reject", "policy"), run.story()
    assert not results(run)[0]["ok"]
    assert "the tool was not called" in results(run)[0]["result"]


@pytest.mark.parametrize("rule", ["h__echo", "h__*"])
async def test_a_rule_allows_one_tool_or_all_of_a_server(drive: Run, rule: str):
    rules = [Rule(verdict="allow", tool=rule)]
    run = drive([server()], [ECHO, call("h__write", text="a=b"), *END], gate=GateMode.AUTO, rules=rules)
    await run.run()
    assert results(run)[0]["ok"], run.story()
    decided = [e["decision"] for e in run.events if e["type"] == "proposal_decided"]
    assert decided == (["approve", "approve"] if rule.endswith("*") else ["approve", "reject"])


async def test_a_denied_tool_is_refused_even_if_its_server_is_allowed(drive: Run):
    rules = [Rule(verdict="allow", tool="h__*"), Rule(verdict="deny", tool="h__echo")]
    run = drive([server()], [ECHO, *END], gate=GateMode.AUTO, rules=rules)
    await run.run()
    assert "a rule refuses it: deny h__echo" in results(run)[0]["result"]


async def test_a_rejection_with_a_reason_reaches_the_model(drive: Run):
    run = drive([server()], [ECHO, *END])
    run.on(
        "proposal_opened",
        lambda e: decide(e, verdict="reject", reason="use the file"),
    )
    await run.run(watched=True)
    assert "rejected by the person: use the file" in results(run)[0]["result"]


async def test_a_person_can_edit_the_arguments_and_the_server_gets_exactly_these(drive: Run):
    run = drive([server()], [ECHO, *END])
    run.on("proposal_opened", lambda e: decide(e, text='{"text": "bye"}'))
    await run.run(watched=True)
    assert results(run)[0]["result"].startswith("bye"), run.story()
    assert "the person changed the arguments of your call" in results(run)[0]["result"]
    (decided,) = [e for e in run.events if e["type"] == "proposal_decided"]
    assert decided["after"] is not None


@pytest.mark.parametrize(
    ("text", "why"), [('{"text": 7}', "do not fit the schema"), ("[]", "not a JSON object"), ("{", "not JSON")]
)
async def test_an_edit_that_does_not_fit_the_schema_is_refused_and_the_proposal_still_waits(
    drive: Run, text: str, why: str
):
    run = drive([server()], [ECHO, *END])
    run.on("proposal_opened", lambda e: decide(e, text=text))
    run.on("command_refused", lambda e: approve(next(o for o in run.events if o["type"] == "proposal_opened")))
    await run.run(watched=True)
    (refused,) = [e for e in run.events if e["type"] == "command_refused"]
    assert why in refused["why"]
    assert results(run)[0]["result"] == "hello"


async def test_what_is_allowed_for_the_session_does_not_wait_again(drive: Run):
    run = drive([server()], [ECHO, call("h__echo", text="again"), *END])
    run.on(
        "proposal_opened",
        lambda e: decide(e, session=True),
    )
    await run.run(watched=True)
    assert [done["ok"] for done in results(run)][:2] == [True, True], run.story()
    assert [e["by"] for e in run.events if e["type"] == "proposal_decided"] == ["person", "policy"]
    assert [e["rule"]["tool"] for e in run.events if e["type"] == "rule_added"] == ["h__echo"]


async def test_a_decision_on_other_arguments_is_refused(drive: Run):
    run = drive([server()], [ECHO, *END])
    run.on("proposal_opened", lambda e: decide(e, digest="0" * 64), approve)
    await run.run(watched=True)
    assert len([e for e in run.events if e["type"] == "command_refused"]) == 1
    assert results(run)[0]["ok"]


async def test_arguments_that_do_not_fit_the_schema_are_an_error_for_the_model_and_reach_nobody(drive: Run):
    run = drive([server()], [call("h__echo", text=7), call("h__echo"), *END])
    await run.run()
    assert not [e for e in run.events if e["type"] == "proposal_opened"]
    assert "text: 7 is not of type 'string'" in results(run)[0]["result"]
    assert "'text' is a required property" in results(run)[1]["result"]


async def test_a_quota_limits_the_calls_of_a_tool(drive: Run):
    rules = [Rule(verdict="allow", tool="h__echo")]
    run = drive([server()], [ECHO, ECHO, *END], gate=GateMode.AUTO, rules=rules, quotas={"h__echo": "1/run"})
    await run.run()
    assert [done["ok"] for done in results(run)][:2] == [True, False]


async def test_a_call_that_was_running_when_the_program_was_killed_is_not_repeated(drive: Run):
    rules = [Rule(verdict="allow", tool="h__write")]
    first = drive([server(write=True)], [call("h__write", text="calls=1"), *END], gate=GateMode.AUTO, rules=rules)
    await first.run()
    again = first.killed_at("proposal_decided")
    made = Path(first.spec.workspace) / "calls"
    made.unlink()
    await again.run()
    assert results(again)[0]["result"].startswith("interrupted: the program stopped while this call"), again.story()
    assert not made.exists()
