"""A run with child runs in a real terminal: its children are opened, get messages and follow the gate's mode."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fakes.nested.fixing import fixes, make_search
from fakes.rundry import Home
from fakes.server import Rule, ScriptedServer
from fakes.terminal import Terminal
from fakes.turns import HttpError, Turn, call

from rundry.agent.journal.claim import holder

NAMES = ["a.txt", "b.txt"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "project"


@contextmanager
def fixing(home: Home, server: ScriptedServer, folder: Path, *argv: str) -> Iterator[Terminal]:
    run = make_search(home, folder, NAMES)
    options = ["--until", "grep -q good {file}", "--model", "fake", "--api-base", server.base_url, "--tokens", "2M"]
    with home.screen("fix", run, *options, *argv, cwd=folder) as terminal:
        yield terminal


def child_of(terminal: Terminal) -> str:
    """The id of the child run that the parent's screen names."""
    found = re.search(r"rundry watch (\S+)", terminal.wait_for("rundry watch "))
    assert found is not None
    return found[1]


def test_enter_opens_the_waiting_child_and_esc_returns_to_its_parent_without_a_decision(home: Home, folder: Path):
    with ScriptedServer(rules=fixes(NAMES)) as server, fixing(home, server, folder, "--gate", "ask") as terminal:
        terminal.wait_for("run 1 waits for you")
        child = child_of(terminal)
        terminal.press("\x1b[21~")  # F10 reads the transcript
        terminal.wait_for("y copy")
        terminal.press("k")
        terminal.wait_for(re.compile("▌.*run 1 of 2"))
        terminal.press("enter")
        terminal.wait_for("write a.txt")
        terminal.wait_for("y approve")
        assert "Fix: a.txt is bad" in terminal.wait_for("Fix: a.txt")
        terminal.press("esc")
        terminal.wait_for("F2 to decide")
        terminal.press("esc")
        terminal.wait_for("run 1 waits for you", timeout=15)
        assert (folder / "a.txt").read_text() == "bad\n", "nothing was decided"
        terminal.press("\x1bc")  # Alt+C
        terminal.wait_for("y approve")
        terminal.press("y")
        terminal.wait_for(lambda _: (folder / "a.txt").read_text() == "good\n")
        terminal.wait_for(lambda lines: "ended" in lines[0])
        assert child in home.run("runs", cwd=folder).stdout
        terminal.send("/parent\r")
        terminal.wait_for("run 2 waits for you")


def test_a_message_to_a_parent_that_waits_for_its_child_is_refused_and_stays_in_the_box(home: Home, folder: Path):
    held = [Rule(f"{name} is bad", Turn(tokens=200, hold_after=3)) for name in NAMES]
    with ScriptedServer(rules=held) as server, fixing(home, server, folder, "--gate", "auto") as terminal:
        server.wait_requests(1)
        _, parent, child = (path.stem for path in home.journals())
        terminal.send("mind the tabs\r")
        terminal.wait_for(f"its child run {child} has the model: ⌥c opens it, or rundry ctl {child} queue TEXT")
        terminal.wait_for(re.compile("› +mind the tabs"))
        refused = home.run("ctl", parent, "queue", "mind the tabs", cwd=folder)
        assert refused.exit_code == 1
        assert f"waits for its child run {child}" in refused.stderr
        assert f"rundry ctl {child} queue TEXT" in refused.stderr
        assert home.run("ctl", parent, "steer", "mind the tabs", cwd=folder).exit_code == 1
        assert home.run("ctl", child, "queue", "mind the tabs", cwd=folder).exit_code == 0


def test_the_gate_mode_of_a_parent_reaches_its_child_and_decides_what_waits_there(home: Home, folder: Path):
    with ScriptedServer(rules=fixes(NAMES)) as server, fixing(home, server, folder, "--gate", "ask") as terminal:
        terminal.wait_for("run 1 waits for you")
        terminal.send("/gate edits\r")
        terminal.wait_for(re.compile("done +2 of 2 findings done"))
    assert [(folder / name).read_text() for name in NAMES] == ["good\n"] * 2


def test_ctl_child_gate_decides_the_open_proposal_of_the_child_only(home: Home, folder: Path):
    with ScriptedServer(rules=fixes(NAMES)) as server, fixing(home, server, folder, "--gate", "ask") as terminal:
        terminal.wait_for("run 1 waits for you")
        child = child_of(terminal)
        assert home.run("ctl", child, "gate", "edits", cwd=folder).exit_code == 0
        terminal.wait_for("run 2 waits for you")
        assert (folder / "a.txt").read_text() == "good\n"
        assert (folder / "b.txt").read_text() == "bad\n"


def test_cycling_the_gate_mode_by_key_decides_nothing_that_waits(home: Home, folder: Path):
    with ScriptedServer(rules=fixes(NAMES)) as server, fixing(home, server, folder, "--gate", "ask") as terminal:
        terminal.wait_for("run 1 waits for you")
        terminal.press("shift+tab")
        terminal.wait_for(re.compile("^ ?effects "))
        child = child_of(terminal)
        told = home.run("export", child, "--format", "jsonl", cwd=folder).stdout
        assert '"type":"gate_mode_changed"' in told and '"type":"proposal_decided"' not in told
        assert (folder / "a.txt").read_text() == "bad\n"


def test_a_gate_mode_set_while_no_child_runs_holds_for_the_child_after_kill_9(home: Home, folder: Path):
    reads = [Rule(f"{name} is bad", call("read_file", path=name)) for name in NAMES]
    with (
        ScriptedServer(rules=reads) as server,
        fixing(home, server, folder, "--gate", "ask", "--steps", "2") as terminal,
    ):
        terminal.wait_for(re.compile("ended +.*budget|budget +.*2 budget"))
        parent = home.journals()[1]
        assert home.run("ctl", parent.stem, "gate", "edits", cwd=folder).exit_code == 0
        runner = holder(parent)
        assert runner is not None
        os.kill(runner.pid, signal.SIGKILL)
        terminal.wait_for(lambda _: holder(parent) is None)
        server.rules = fixes(NAMES)
        ran = home.run("resume", parent.stem, "--steps", "40", "--headless", "--json", cwd=folder)
        assert (ran.exit_code, ran.outcome["reason"]) == (0, "done"), ran
    assert [(folder / name).read_text() for name in NAMES] == ["good\n"] * 2


def test_the_screen_of_a_parent_says_that_its_child_paused_because_of_an_error(home: Home, folder: Path):
    refused = [Rule(f"{NAMES[0]} is bad", Turn(error=HttpError(400, "no such answer")))]
    with ScriptedServer(rules=refused) as server, fixing(home, server, folder, "--gate", "edits") as terminal:
        terminal.wait_for("run 1 waits for you")
        server.rules = fixes(NAMES)
        assert home.run("ctl", child_of(terminal), "unpause", cwd=folder).exit_code == 0
        terminal.wait_for(re.compile("done +2 of 2 findings done"))


def test_resume_on_the_screen_of_a_parent_continues_its_paused_child(home: Home, folder: Path):
    refused = [Rule(f"{NAMES[0]} is bad", Turn(error=HttpError(400, "no such answer")))]
    with ScriptedServer(rules=refused) as server, fixing(home, server, folder, "--gate", "edits") as terminal:
        terminal.wait_for("run 1 waits for you")
        server.rules = fixes(NAMES)
        terminal.send("/resume\r")
        terminal.wait_for(re.compile("done +2 of 2 findings done"))
