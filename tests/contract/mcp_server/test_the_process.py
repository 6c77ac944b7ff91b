"""`rundry mcp` as a process: its wire, its end, what outlives it, and what happens without the SDK."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from fakes.rundry import RUNDRY, Home
from fakes.server import ScriptedServer
from fakes.turns import Turn

from rundry.agent import holder

from .conftest import connected

HELD = Turn(text="I think about it for a while", hold_after=4)
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}


class Raw:
    """The server with its pipes, for what a client of the SDK would not send."""

    def __init__(self, home: Home, folder: Path, *options: str) -> None:
        pipe = subprocess.PIPE
        argv = [str(RUNDRY), "mcp", *options]
        self.process = subprocess.Popen(argv, cwd=folder, env=home.env, stdin=pipe, stdout=pipe, stderr=pipe)

    def send(self, *messages: dict[str, Any] | bytes) -> None:
        assert self.process.stdin is not None
        for message in messages:
            data = message if isinstance(message, bytes) else json.dumps(message).encode()
            self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def end(self) -> tuple[int, bytes, bytes]:
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, out, err

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


def test_it_ends_with_its_input_and_writes_nothing_but_the_protocol(home, project):
    with Raw(home, project) as server:
        server.send(HELLO)
        assert server.read()["result"]["serverInfo"]["name"] == "rundry"
        server.send({"jsonrpc": "2.0", "method": "notifications/initialized"}, LIST)
        assert len(server.read()["result"]["tools"]) == 11
        assert server.end() == (0, b"", b"")
    with Raw(home, project) as server:
        assert server.end() == (0, b"", b"")


@pytest.mark.parametrize(
    ("model", "why"),
    [("nope/nope", "unknown provider in the model name nope/nope"), ("openai/gpt-4o", "no key for openai")],
)
def test_a_model_with_which_no_run_could_start_is_refused_before_it_serves(home, project, model, why):
    ran = home.run("mcp", "--model", model, cwd=project)
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert why in ran.stderr
    with Raw(home, project, "--model", "nope/nope", "--api-base", "http://127.0.0.1:9") as server:
        assert server.end() == (0, b"", b"")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_cleanly_although_the_client_keeps_its_pipe_open(home, project, number):
    with Raw(home, project) as server:
        server.send(HELLO)
        server.read()
        server.process.send_signal(number)
        assert server.process.wait(timeout=20) == 0
        assert server.end()[1:] == (b"", b"")


def test_broken_messages_are_ignored_and_the_next_one_is_answered(home, project):
    deep = b"[" * 100_000
    huge = b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"' + b"x" * 3_000_000 + b'"}}'
    with Raw(home, project) as server:
        server.send(b"", b"not json", b"\xff\xfe\x00", b"{}", b"[1,2]", deep, huge, b'"\\ud800"', HELLO)
        assert server.read()["id"] == 1
        server.send({"jsonrpc": "2.0", "method": "notifications/initialized"}, LIST)
        assert server.read()["id"] == 2
        code, out, err = server.end()
        assert (code, out) == (0, b"")
        assert b"dropped a message of more than 1000000 bytes" in err
        assert b"Traceback" not in err


def test_a_client_that_closes_its_output_ends_the_server(home, project):
    with Raw(home, project) as server:
        server.send(HELLO)
        server.read()
        assert server.process.stdout is not None
        server.process.stdout.close()
        server.send({"jsonrpc": "2.0", "method": "notifications/initialized"}, *[LIST] * 20)
        assert server.process.wait(timeout=20) == 0
        assert server.process.stderr is not None
        assert b"Traceback" not in server.process.stderr.read()


async def test_a_run_outlives_the_server_and_another_server_reads_and_stops_it(home, project):
    with ScriptedServer([HELD]) as model:
        async with connected(home, project, model=model) as client:
            run = (await client.call("start_run", task="x"))["run"]
            model.wait_requests(1)
        (path,) = home.journals()
        assert holder(path) is not None
        async with connected(home, project, model=model) as client:
            assert (await client.call("read_run", run=run))["status"] == "working"
            await client.call("stop_run", run=run, now=True)
            assert (await client.waiting(run))["status"] == "ended"


async def test_with_stop_on_exit_a_run_ends_with_its_server(home, project):
    with ScriptedServer([HELD]) as model:
        async with connected(home, project, "--stop-on-exit", model=model) as client:
            run = (await client.call("start_run", task="x"))["run"]
            model.wait_requests(1)
        (path,) = home.journals()
        until = time.monotonic() + 20
        while holder(path) is not None:
            assert time.monotonic() < until
            time.sleep(0.05)
    assert home.run("export", run, cwd=project).outcome["detail"] == "mcp:claude-code stopped it"


async def test_a_killed_server_leaves_its_run_which_hands_over_instead_of_being_approved(home, project):
    with ScriptedServer([HELD]) as model:
        async with connected(home, project, model=model) as client:
            run = (await client.call("start_run", task="x"))["run"]
            model.wait_requests(1)
            servers = [p for p in psutil.process_iter() if _is_server_of(p, home)]
            assert len(servers) == 1
            os.kill(servers[0].pid, signal.SIGKILL)
        (path,) = home.journals()
        assert holder(path) is not None
        assert home.run("ctl", run, "stop", "--now", cwd=project).exit_code == 0


def _is_server_of(process: psutil.Process, home: Home) -> bool:
    try:
        return "mcp" in process.cmdline()[1:] and process.environ().get("RUNDRY_RUNS_DIR") == str(home.runs)
    except psutil.Error:
        return False


def test_without_the_sdk_it_says_in_one_line_how_to_install_it(home, project):
    code = (
        "import sys; sys.modules['mcp'] = None; sys.argv = ['rundry', 'mcp']\n"
        "from rundry.tui.cli.root import main\nmain()"
    )
    argv = [sys.executable, "-c", code]
    done = subprocess.run(argv, cwd=project, env=home.env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    (line,) = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (2, "")
    assert line.startswith("rundry: rundry mcp: the MCP SDK is not installed; install its packages with:")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--folder", "nowhere"], "--folder nowhere: no such folder"),
        (["--max-usd", "much"], "--max-usd"),
        (["--max-steps", "0"], "--max-steps"),
        (["--max-runs", "0"], "--max-runs"),
        (["--gate", "auto"], "--gate"),
        (["task"], "task"),
    ],
)
def test_bad_options_are_one_line_and_exit_code_2(home, project, options, words):
    ran = home.run("mcp", *options, cwd=project)
    (line,) = ran.stderr.splitlines()
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert words in line
