"""A server that dies is started again, with a limit; a call that takes too long ends alone."""

from __future__ import annotations

from typing import Any

import pytest
from fakes.in_process.driven import Driven
from fakes.turns import call, finish

from rundry.agent.protocol import GateMode, Rule

from .conftest import Run, results, server
from .test_hostile_servers import left

ECHO = call("h__echo", text="hello")
END = [call("read_file", path="calc/core.py"), finish("done", "calc/core.py")]
ALLOWED: dict[str, Any] = {"gate": GateMode.AUTO, "rules": [Rule(verdict="allow", tool="h__*")]}


def changes(run: Driven) -> list[tuple[str, str, int]]:
    servers = [e for e in run.events if e["type"] == "mcp_server_changed"]
    return [(e["state"], e.get("detail", ""), e.get("restarts", 0)) for e in servers]


def texts(run: Driven) -> list[str]:
    return [str(one["result"]) for one in results(run)]


async def test_a_server_that_dies_in_a_call_is_started_again_and_the_call_is_not_repeated(drive: Run):
    run = drive([server("dies-once")], [ECHO, ECHO, *END], **ALLOWED)
    outcome = await run.run()
    assert outcome.reason.value == "answered", run.story()
    first, second = texts(run)[:2]
    assert "ended during the call: it ended with exit code 3: it broke" in first
    assert "It is unknown whether the call was carried out, and it is not repeated" in first
    assert second == "hello", run.story()
    died = "it ended with exit code 3: it broke; started again (1 of 3)"
    assert changes(run) == [("ready", "", 0), ("starting", died, 1), ("ready", "it runs again", 1)]
    assert left() == []


async def test_a_server_that_always_dies_is_started_again_three_times(drive: Run):
    run = drive([server("dies-in-call")], [ECHO] * 5 + END, **ALLOWED)
    outcome = await run.run(within=60)
    assert outcome.reason.value == "answered", run.story()
    assert [state for state, _, _ in changes(run)] == ["ready", *["starting", "ready"] * 3, "ended"]
    assert "it was started again 3 times in 10 minutes" in changes(run)[-1][1]
    assert "the MCP server h does not run: it ended with exit code 3: it broke" in texts(run)[4]
    assert left() == []


async def test_tools_that_differ_after_a_restart_are_not_called_before_a_person_decides(drive: Run):
    run = drive([server("dies-and-changes")], [ECHO, ECHO, *END], **ALLOWED)
    await run.run()
    assert not any(text == "hello" for text in texts(run)), run.story()
    assert "h__echo" not in [spec.name for spec in run.model.requests[-1].tools]


async def test_a_call_that_takes_too_long_is_cancelled_and_the_server_stays(drive: Run):
    run = drive([server("late", timeout=1.0)], [ECHO, ECHO, *END], **ALLOWED)
    outcome = await run.run()
    assert outcome.reason.value == "answered", run.story()
    first, second = texts(run)[:2]
    assert "did not answer `echo` within 1 s: the call was cancelled" in first
    assert "It is unknown whether the call was carried out" in first
    assert second.count(",") == 0 and second != "[]", "the server heard of exactly one cancelled request"
    assert "too late" not in "".join(texts(run))
    assert changes(run) == [("ready", "", 0)]


@pytest.mark.long
async def test_a_server_that_hangs_is_started_again_after_three_calls(drive: Run):
    run = drive([server("hangs-in-call", timeout=1.0)], [ECHO] * 3 + END, **ALLOWED)
    outcome = await run.run(within=60)
    assert outcome.reason.value == "answered", run.story()
    assert all("the call was cancelled" in text for text in texts(run)[:3])
    assert [state for state, _, _ in changes(run)][:2] == ["ready", "starting"]
    assert "3 calls in a row" in changes(run)[1][1]
    assert left() == []


async def test_a_server_that_can_write_is_ended_with_a_call_that_takes_too_long(drive: Run):
    run = drive([server("hangs-in-call", timeout=1.0, write=True)], [ECHO, *END], **ALLOWED)
    outcome = await run.run(within=60)
    assert outcome.reason.value == "answered", run.story()
    assert "the call was cancelled" in texts(run)[0]
    assert [state for state, _, _ in changes(run)][:2] == ["ready", "starting"]
    assert "could still change files" in changes(run)[1][1]
    assert left() == []
