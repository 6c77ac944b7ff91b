"""`rundry acp` with an editor that dies, answers twice, never answers or sends nonsense."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fakes.editor import Editor, editing, words
from fakes.project import CORE, FIX_ADD
from fakes.rundry import RUNDRY, Home, exported_events
from fakes.server import ScriptedServer
from fakes.turns import Turn, say

TESTS = Path(__file__).parents[2]
PAD = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from fakes.editor import Editor, editing, words
from fakes.rundry import Home

async def main():
    home = Home.__new__(Home)
    home.env = dict(__import__("os").environ)
    cwd, editor = Path(sys.argv[2]), Editor([None])
    async with editing(home, editor, *sys.argv[3:], cwd=cwd) as (agent, process):
        new = await agent.new_session(cwd=str(cwd), mcp_servers=[])
        turn = asyncio.ensure_future(agent.prompt(session_id=new.session_id, prompt=words("fix add")))
        await editor.until(lambda: editor.asked)
        print(new.session_id, process.pid, flush=True)
        await turn

asyncio.run(main())
"""


def model(server: ScriptedServer) -> list[str]:
    return ["--model", "fake", "--api-base", server.base_url]


def wait(condition: Callable[[], object], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition did not come true"
        time.sleep(0.05)


class Raw:
    """An editor that writes JSON by hand."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.seen: list[dict[str, Any]] = []

    def send(self, text: str | dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write((text if isinstance(text, str) else json.dumps(text)) + "\n")
        self.process.stdin.flush()

    def request(self, number: int, method: str, **params: Any) -> dict[str, Any]:
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return self.until(lambda message: message.get("id") == number and "method" not in message)

    def until(self, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.seen.append(json.loads(line))
            if fits(self.seen[-1]):
                return self.seen[-1]
        raise AssertionError(f"the end came first: {self.seen}")


@contextmanager
def raw(home: Home, *argv: str, cwd: Path) -> Iterator[Raw]:
    process = subprocess.Popen(
        [str(RUNDRY), "acp", *argv], cwd=cwd, env=home.env, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    with process:  # closes its streams, and waits for its end
        try:
            yield Raw(process)
        finally:
            if process.stdin is not None and not process.stdin.closed:
                process.communicate(timeout=60)


@pytest.mark.long
def test_a_killed_editor_leaves_the_proposal_for_a_person_with_a_terminal(home: Home, project: Path):
    with ScriptedServer([FIX_ADD, say("Done.")]) as server:
        pad = subprocess.Popen(
            [sys.executable, "-c", PAD, str(TESTS), str(project), *model(server)],
            env=home.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        assert pad.stdout is not None
        run_id, agent = pad.stdout.readline().split()
        os.kill(pad.pid, signal.SIGKILL)
        pad.communicate(timeout=60)
        wait(lambda: not Path(f"/proc/{agent}").exists())
        assert exported_events(home, run_id, "proposal_decided") == []
        assert (project / "calc/core.py").read_text() == CORE
        (opened,) = exported_events(home, run_id, "proposal_opened")
        ran = home.run("approve", run_id, "--digest", opened["digest"], "--headless", cwd=project)
        assert ran.exit_code == 0, ran
        wait(lambda: "a + b" in (project / "calc/core.py").read_text())
    (decision,) = exported_events(home, run_id, "proposal_decided")
    assert (decision["decision"], decision["by"], decision["channel"]) == ("approve", "person", "")


def test_only_the_first_answer_to_a_permission_request_counts(home: Home, project: Path):
    with ScriptedServer([FIX_ADD, say("All right.")]) as server, raw(home, *model(server), cwd=project) as editor:
        editor.request(1, "initialize", protocolVersion=1)
        session = editor.request(2, "session/new", cwd=str(project), mcpServers=[])["result"]["sessionId"]
        prompt = [{"type": "text", "text": "fix add"}]
        editor.send(
            {"jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": {"sessionId": session, "prompt": prompt}}
        )
        asked = editor.until(lambda message: message.get("method") == "session/request_permission")
        for option in ("reject", "approve"):
            outcome = {"outcome": {"outcome": "selected", "optionId": option}}
            editor.send({"jsonrpc": "2.0", "id": asked["id"], "result": outcome})
        done = editor.until(lambda message: message.get("id") == 3 and "result" in message)
        assert done["result"]["stopReason"] == "end_turn"
    assert [one["decision"] for one in exported_events(home, session, "proposal_decided")] == ["reject"]
    assert (project / "calc/core.py").read_text() == CORE


@pytest.mark.parametrize("answer", ["error", "cancelled", "allow_everything"])
async def test_an_answer_that_decides_nothing_leaves_the_proposal_open_and_asks_again(
    home: Home, project: Path, answer: str
):
    editor = Editor([answer, "approve"])
    with ScriptedServer([FIX_ADD, say("Done.")]) as server:
        async with editing(home, editor, *model(server), cwd=project) as (agent, _):
            new = await agent.new_session(cwd=str(project), mcp_servers=[])
            await agent.prompt(session_id=new.session_id, prompt=words("fix add"))
            assert "The proposal still waits" in editor.text()
            assert exported_events(home, new.session_id, "proposal_decided") == []
            await agent.prompt(session_id=new.session_id, prompt=words("go on"))
    assert (project / "calc/core.py").read_text() != CORE
    assert [one["channel"] for one in exported_events(home, new.session_id, "proposal_decided")] == ["acp:pad"]


async def test_a_proposal_whose_file_changed_meanwhile_is_asked_about_again(home: Home, project: Path):
    editor = Editor([None, "approve"])
    with ScriptedServer([FIX_ADD, say("Done.")]) as server:
        async with editing(home, editor, *model(server), cwd=project) as (agent, _):
            new = await agent.new_session(cwd=str(project), mcp_servers=[])
            turn = asyncio.ensure_future(agent.prompt(session_id=new.session_id, prompt=words("fix add")))
            await editor.until(lambda: editor.asked)
            (project / "calc/new.py").write_text("# mine\n" + CORE)
            (project / "calc/new.py").replace(project / "calc/core.py")  # no reader sees a part of it
            await editor.until(lambda: len(editor.asked) >= 2)
            await turn
    first, second = (asked.content[0] for _, asked, _ in editor.asked)
    assert (first.old_text, second.old_text) == (CORE, "# mine\n" + CORE)
    assert (project / "calc/core.py").read_text() == "# mine\n" + CORE.replace("a - b", "a + b")


async def test_unsaved_changes_of_the_editor_are_named_in_the_request(home: Home, project: Path):
    editor = Editor(["reject"])
    editor.buffers[str(project / "calc/core.py")] = CORE + "# typed, not saved\n"
    with ScriptedServer([FIX_ADD, say("Done.")]) as server:
        async with editing(home, editor, *model(server), cwd=project, reads=True) as (agent, _):
            new = await agent.new_session(cwd=str(project), mcp_servers=[])
            await agent.prompt(session_id=new.session_id, prompt=words("fix add"))
    assert "unsaved changes" in editor.asked[0][1].content[-1].content.text


def test_nonsense_is_answered_with_an_error_and_changes_nothing(home: Home, project: Path):
    with raw(home, cwd=project) as editor:
        for line in ("", "{", "[1, 2]", "5", '"text"', "\x00\xff", "[" * 100_000):
            editor.send(line)
        answer = editor.request(1, "initialize", protocolVersion=99)
        assert answer["result"]["protocolVersion"] == 1
        assert answer["result"]["agentInfo"]["name"] == "rundry"
        errors = [message for message in editor.seen if "error" in message]
        assert [(error["id"], error["error"]["code"]) for error in errors] == [(None, -32700)] * 6
        assert editor.request(2, "session/prompt", sessionId="none", prompt=[])["error"]["code"] == -32602
        assert editor.request(3, "session/new", cwd=5)["error"]["code"] == -32602
        assert editor.request(4, "no/such")["error"]["code"] == -32601
        assert editor.request(5, "authenticate", methodId="x")["error"]["code"] == -32602
        editor.send({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "none"}})
    assert editor.process.returncode == 0
    assert home.journals() == []


def test_an_editor_that_does_not_read_cannot_keep_the_process_from_its_end(home: Home, project: Path):
    with ScriptedServer([Turn(tokens=100_000)]) as server, raw(home, *model(server), cwd=project) as editor:
        editor.request(1, "initialize", protocolVersion=1)
        session = editor.request(2, "session/new", cwd=str(project), mcpServers=[])["result"]["sessionId"]
        prompt = [{"type": "text", "text": "talk"}]
        params = {"sessionId": session, "prompt": prompt}
        editor.send({"jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": params})
        server.wait_requests(1)
        assert editor.process.stdin is not None
        editor.process.stdin.close()
        assert editor.process.wait(timeout=60) == 0


def test_an_editor_that_ends_the_process_ends_the_chat_that_waits(home: Home, project: Path):
    with ScriptedServer([say("Hi.")]) as server, raw(home, *model(server), cwd=project) as editor:
        editor.request(1, "initialize", protocolVersion=1)
        session = editor.request(2, "session/new", cwd=str(project), mcpServers=[])["result"]["sessionId"]
        prompt = [{"type": "text", "text": "hi"}]
        editor.request(3, "session/prompt", sessionId=session, prompt=prompt)
        editor.process.send_signal(signal.SIGTERM)
        assert editor.process.wait(timeout=60) == 0
    assert exported_events(home, session, "run_ended")[-1]["reason"] == "user"


@pytest.mark.parametrize("argv", [["--gate", "yolo"], ["--steps", "many"], ["--no-such-option"], ["a task"]])
def test_a_wrong_option_is_one_line_and_exit_code_2(home: Home, project: Path, argv: list[str]):
    ran = home.run("acp", *argv, cwd=project)
    assert (ran.exit_code, ran.stdout, ran.stderr.count("\n")) == (2, "", 1), ran


def test_without_the_package_or_an_editor_there_is_one_line_and_exit_code_2(home: Home, project: Path):
    code = (
        "import sys; sys.modules['acp'] = None; sys.argv = ['rundry', 'acp']\n"
        "from rundry.tui.cli.root import main; main()"
    )
    argv = [sys.executable, "-c", code]
    done = subprocess.run(argv, cwd=project, env=home.env, input="", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert "is not installed; install its packages with" in done.stderr
    with (project / "calc/core.py").open() as file:
        done = subprocess.run([RUNDRY, "acp"], stdin=file, env=home.env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "is started by an editor" in done.stderr
