"""A server that floods, hangs, dies or lies is ended or refused, and the run continues."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import psutil
import pytest
from fakes.in_process.driven import Driven
from fakes.project import changed_files
from fakes.turns import call, finish

from rundry.agent.protocol import GateMode, Rule

from .conftest import ENV, HOSTILE, MINE, Run, results, server

ECHO = call("h__echo", text="hello")
END = [call("read_file", path="calc/core.py"), finish("done", "calc/core.py")]
ALLOWED: dict[str, Any] = {"gate": GateMode.AUTO, "rules": [Rule(verdict="allow", tool="h__*")]}


def notes(run: Driven) -> str:
    return "\n".join(next(e for e in run.events if e["type"] == "run_started")["notes"])


def states(run: Driven) -> list[tuple[str, str]]:
    return [(e["state"], e.get("detail", "")) for e in run.events if e["type"] == "mcp_server_changed"]


def left() -> list[list[str]]:
    """Command lines of servers that still run, and of what they started."""
    lines: list[list[str]] = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
    return [line for line in lines if {str(HOSTILE), MINE} <= {*line} or line == ["sleep", f"600.{MINE}"]]


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("dies", "it ended with exit code 4: cannot read my config"),
        ("floods-line", "bytes"),
        ("deep", "it sent a message that cannot be read"),
        ("floods-lines", "are not messages of the protocol"),
    ],
)
async def test_a_server_that_fails_at_its_start_is_named_and_the_run_continues(drive: Run, how: str, why: str):
    run = drive([server(how)], [ECHO, *END], **ALLOWED)
    outcome = await run.run()
    assert outcome.reason.value == "answered", run.story()
    assert "MCP server h does not run: " in notes(run)
    assert why in notes(run)
    assert "the MCP server h does not run" in results(run)[0]["result"]
    assert left() == []


@pytest.mark.long
@pytest.mark.parametrize("how", ["silent", "silent-list"])
async def test_a_server_that_does_not_answer_at_its_start_is_ended(drive: Run, how: str):
    run = drive([server(how)], END, **ALLOWED)
    await run.run(within=90)
    assert "MCP server h does not run: " in notes(run), run.story()
    assert left() == []


async def test_a_server_that_floods_in_a_call_is_ended_with_all_its_processes(drive: Run):
    run = drive([server("floods-in-call", timeout=2.0)], [ECHO, ECHO, *END], **ALLOWED)
    outcome = await run.run()
    assert outcome.reason.value == "answered", run.story()
    first, second = results(run)[:2]
    assert "it sent more than" in first["result"], run.story()
    assert "It is unknown whether the call was carried out" in first["result"]
    assert not second["ok"]
    assert states(run)[-1][0] == "ended"
    assert "it sent more than" in states(run)[-1][1]
    assert left() == []


@pytest.mark.long
async def test_a_server_that_floods_its_standard_error_is_ended(drive: Run):
    run = drive([server("floods-errors")], [ECHO, *END], **ALLOWED)
    outcome = await run.run()
    assert outcome.reason.value == "answered", run.story()
    assert left() == []


async def test_an_answer_that_is_not_a_result_is_a_failed_call(drive: Run):
    run = drive([server("answers-nonsense")], [ECHO, *END], **ALLOWED)
    await run.run()
    assert "its answer cannot be used" in results(run)[0]["result"]
    assert states(run) == [("ready", "")]


async def test_an_error_of_a_tool_is_a_failure_for_the_model(drive: Run):
    run = drive([server("fails")], [ECHO, *END], **ALLOWED)
    await run.run()
    assert (results(run)[0]["ok"], results(run)[0]["result"]) == (False, "no such thing")


async def test_a_server_that_asks_for_an_answer_and_a_password_gets_nothing_without_a_person(drive: Run, project: Path):
    run = drive([server("asks")], [ECHO, *END], **ALLOWED)
    outcome = await run.run()
    sampling, answer, roots, note = results(run)[0]["result"].split("\n")
    assert '"code"' in sampling, run.story()
    assert json.loads(answer) == {"action": "decline"}
    assert [root["uri"] for root in json.loads(roots)["roots"]] == [project.as_uri()]
    assert note == "The server asked the person for something during this call, and it was declined."
    assert outcome.steps == 3
    assert "it asked for an answer of the model, which was refused" in states(run)[-1][1]


async def test_a_server_sees_none_of_the_users_variables_and_changes_nothing(drive: Run, project: Path):
    named = server(env=["MY_TOKEN", "OPENAI_API_KEY", "LEVEL=debug"])
    run = drive([named], [call("h__environment", text=""), *END], **ALLOWED)
    await run.run()
    found = json.loads(results(run)[0]["result"])
    assert found["env"]["MY_TOKEN"] == ENV["MY_TOKEN"]
    assert found["env"]["LEVEL"] == "debug"
    assert ENV["OPENAI_API_KEY"] not in str(found)
    assert ENV["OTHER_SECRET"] not in str(found)
    assert "Read-only file system" in found["workspace"]
    assert found["home"] == "written"
    assert found["network"] != "reached"
    assert changed_files(project) == []


async def test_what_a_server_that_may_write_changed_in_a_call_is_a_change_of_the_run(drive: Run, project: Path):
    run = drive([server(write=True)], [call("h__write", text="made=x"), *END], **ALLOWED)
    outcome = await run.run()
    assert "(writes to the workspace)" in notes(run)
    assert changed_files(project) == ["made"]
    assert outcome.files_changed == ["made"], run.story()


async def test_escape_sequences_and_hidden_characters_reach_neither_the_model_nor_the_screen(drive: Run):
    run = drive([server("escapes")], [ECHO, *END], **ALLOWED)
    await run.run()
    offered = next(e for e in run.events if e["type"] == "mcp_server_changed")["tools"]
    assert offered[0] == "h__echo"
    assert offered[1].isascii()
    assert len(offered[1]) <= 64
    texts = [spec.description for spec in run.model.requests[0].tools] + [results(run)[0]["result"]]
    assert not any(sign in text for text in texts for sign in "\x1b\x07"), texts
    assert not any("\u202e" in spec.description for spec in run.model.requests[0].tools)


async def test_huge_and_invalid_schemas_are_refused_by_name_and_long_descriptions_are_cut(drive: Run):
    run = drive([server("huge")], END, **ALLOWED)
    await run.run()
    said = notes(run)
    for name, why in (
        ("big", "(at most 16,000)"),
        ("deep", "nested more than 20 levels"),
        ("broken", "its type is not an object"),
        ("list", "its type is not an object"),
    ):
        assert any(line.startswith(f"MCP server h: refused {name}: ") and why in line for line in said.split("\n")), (
            said
        )
    talks = next(spec for spec in run.model.requests[0].tools if spec.name == "h__talks")
    assert len(talks.description) < 2_200


async def test_tools_with_the_names_of_ours_are_other_tools(drive: Run, project: Path):
    turns = [call("run_command", command="true"), call("h__run_command", text="rm -rf ."), *END]
    run = drive([server("ours")], turns, gate=GateMode.AUTO)
    await run.run()
    assert [done["ok"] for done in results(run)][:2] == [True, False], run.story()
    opened = [e for e in run.events if e["type"] == "proposal_opened"]
    assert [(e["tool"], e.get("server")) for e in opened] == [("run_command", None), ("h__run_command", "h")]
    assert changed_files(project) == []


async def test_names_that_collide_are_resolved_in_the_same_way_in_any_order(drive: Run):
    run = drive([server("twice")], END, **ALLOWED)
    await run.run()
    names = next(e for e in run.events if e["type"] == "mcp_server_changed")["tools"]
    assert names[0] == "h__echo"
    assert sorted(name[:7] for name in names[1:]) == ["h__a_b_", "h__a_b_"]
    assert len(set(names)) == 3
    assert "refused echo: it is listed twice" in notes(run)


async def test_a_long_result_is_bounded_and_the_rest_can_be_read(drive: Run):
    run = drive([server("long")], [ECHO, *END], **ALLOWED)
    await run.run()
    first = results(run)[0]
    assert len(first["result"]) < 13_000
    assert "lines left out; the full result is stored" in first["result"]
    assert first["full"] is not None
