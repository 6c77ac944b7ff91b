"""The fakes do what the tests that stand on them believe."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import httpx
import pytest

from fakes.clock import ManualClock
from fakes.models.model import ScriptedModel
from fakes.server import Rule, ScriptedServer
from fakes.terminal import Terminal
from fakes.turns import Call, HttpError, Turn, calls, say
from rundry.agent.protocol import CallPart, EndPart, Message, ModelFault, Request, TextPart, UsagePart


def ask(server: ScriptedServer, **more: object) -> list[dict]:
    body = {"model": "fake", "messages": [{"role": "user", "content": "hi"}], "stream": True, **more}
    lines: list[dict] = []
    with httpx.stream("POST", f"{server.base_url}/chat/completions", json=body, timeout=20) as answer:
        for line in answer.iter_lines():
            if line.startswith("data: ") and line != "data: [DONE]":
                lines.append(json.loads(line[6:]))
    return lines


def test_a_call_is_split_over_chunks_and_the_usage_comes_last():
    wanted = Call("edit_file", {"path": "a.py", "old_text": "x" * 40, "new_text": "ü"})
    with ScriptedServer([calls(wanted, text="I edit")]) as server:
        lines = ask(server, stream_options={"include_usage": True})
    parts = [
        d["tool_calls"][0]["function"] for line in lines[:-1] if "tool_calls" in (d := line["choices"][0]["delta"])
    ]
    assert len(parts) > 5
    assert json.loads("".join(p["arguments"] for p in parts)) == wanted.arguments
    assert lines[-2]["choices"][0]["finish_reason"] == "tool_calls"
    assert lines[-1]["usage"]["completion_tokens"] > 12


def test_an_answer_ends_where_max_tokens_says_and_bills_no_more():
    with ScriptedServer([Turn(tokens=500)]) as server:
        lines = ask(server, max_tokens=20, stream_options={"include_usage": True})
    assert lines[-1]["usage"]["completion_tokens"] == 20
    assert lines[-2]["choices"][0]["finish_reason"] == "length"


def test_errors_rules_and_then_are_served_in_their_order():
    error = Turn(error=HttpError(429, "slow down", headers={"Retry-After": "7"}))
    with ScriptedServer([error], then=say("after"), rules=[Rule("title", say("side"))]) as server:
        url, message = f"{server.base_url}/chat/completions", [{"role": "user", "content": "x"}]
        side = httpx.post(url, json={"messages": [{"content": "a title please"}]}).json()
        assert side["choices"][0]["message"]["content"] == "side"
        refused = httpx.post(url, json={"messages": message})
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "7")
        assert httpx.post(url, json={"messages": message}).json()["choices"][0]["message"]["content"] == "after"
        assert [bool(r.complete) for r in server.requests] == [True, True, True]


def test_a_dropped_stream_is_an_error_for_the_client_and_a_left_one_is_recorded():
    with ScriptedServer([Turn(text="one two three four", drop_after=2), Turn(text="one two", hold_after=1)]) as server:
        with pytest.raises(httpx.RemoteProtocolError):
            ask(server)
        body = {"messages": [], "stream": True}
        with httpx.stream("POST", f"{server.base_url}/chat/completions", json=body) as answer:
            next(answer.iter_lines())
        assert [r.closed_early for r in server.wait_closed()] == [False, True]


def test_the_server_runs_as_a_program(tmp_path: Path):
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"turns": [{"text": "from a file", "calls": [{"name": "finish"}]}]}))
    argv = [sys.executable, "-m", "fakes.server", "--script", str(script)]
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a shell's background job ignores it
    tests = Path(__file__).parents[1]
    with subprocess.Popen(argv, cwd=tests, stdout=subprocess.PIPE, text=True, preexec_fn=heard) as process:
        assert process.stdout is not None
        base = json.loads(process.stdout.readline())["base_url"]
        answer = httpx.post(f"{base}/chat/completions", json={"messages": []}).json()
        assert answer["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "finish"
        assert httpx.get(f"{base}/models").json()["data"][0]["id"] == "fake"
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0


async def test_advancing_the_clock_wakes_the_sleepers_at_their_own_moments():
    clock, seen = ManualClock(), []

    async def sleeper(name: str, *naps: float) -> None:
        for nap in naps:
            await clock.sleep(nap)
            seen.append((name, clock.monotonic() - 1000))

    async with asyncio.TaskGroup() as group:
        group.create_task(sleeper("a", 1, 3))
        group.create_task(sleeper("b", 2))
        await clock.advance(2)
        assert seen == [("a", 1), ("b", 2)]
        await clock.advance(10)
    assert seen[-1] == ("a", 4)


async def test_the_scripted_model_plays_its_turns_and_honours_max_tokens():
    model = ScriptedModel([calls(Call("read_file", {"path": "a"}), text="I read"), Turn(tokens=50)])
    request = Request(messages=[Message(role="user", text="hello there")], max_tokens=1000)
    parts = [p async for p in model.stream(request)]
    assert "".join(p.text for p in parts if isinstance(p, TextPart)) == "I read"
    assert [p.call.tool for p in parts if isinstance(p, CallPart)] == ["read_file"]
    assert isinstance(parts[-2], UsagePart) and parts[-1] == EndPart("tool_calls")
    short = [p async for p in model.stream(Request(messages=request.messages, max_tokens=10))]
    assert short[-1] == EndPart("length")
    assert model.requests[1].max_tokens == 10


async def test_the_scripted_model_raises_faults_and_breaks_off():
    fault = ModelFault("rate-limit", "slow down", retryable=True, retry_after=1)
    model = ScriptedModel([fault, Turn(text="one two three", drop_after=1)])
    request = Request(messages=[], max_tokens=100)
    with pytest.raises(ModelFault, match="slow down"):
        _ = [p async for p in model.stream(request)]
    with pytest.raises(ModelFault, match="middle"):
        _ = [p async for p in model.stream(request)]


def test_the_terminal_shows_colours_answers_questions_and_hears_keys():
    program = (
        "import os, sys, tty; tty.setraw(0)\n"
        "sys.stdout.write('\\x1b[31;44mred\\x1b[0m \\x1b[6n'); sys.stdout.flush()\n"
        "print('reply', repr(os.read(0, 20)), os.get_terminal_size().columns, end='\\r\\n', flush=True)\n"
        "print('key', repr(os.read(0, 20)), end='\\r\\n', flush=True)\n"
        "os.read(0, 1); print('now', os.get_terminal_size().columns, end='', flush=True); os.read(0, 1); sys.exit(7)\n"
    )
    with Terminal([sys.executable, "-c", program], columns=100) as terminal:
        terminal.wait_for(re.compile(r"reply b'\\x1b\[1;1R' 100"))
        assert terminal.colours("red") == ("red", "blue")
        terminal.press("f2")
        terminal.wait_for(r"key b'\x1bOQ'")
        terminal.resize(30, 90)
        terminal.send("x")
        terminal.wait_for("now 90")
        terminal.send("x")
        assert terminal.wait_for_exit() == 7


def test_a_terminal_that_hangs_up_ends_the_program():
    with Terminal(["sh", "-c", "echo here; exec sleep 100"]) as terminal:
        terminal.wait_for("here")  # a terminal that goes before its program came has nobody to tell
        terminal.hang_up()
        assert terminal.wait_for_exit() == -signal.SIGHUP
