"""Messages and keys that are typed while a run works."""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path

import pytest
from contract.terminal.goals import HELD, at_gate, of, on_goal
from fakes.project import CORE, FIX_BOTH, read
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import Turn, say
from fakes.wire import text_of

QUIET = 1.0
"""Seconds after a key in which the thread for keys stops to look at the clock."""
APART = 0.05
"""Seconds between two bytes, so that each is read alone."""


def test_a_message_can_be_typed_from_the_first_frame_on_and_a_chat_answers(home: Home, project: Path):
    with ScriptedServer([say("It is a **small** project."), say("Two tests fail.")]) as server:
        with home.screen("--model", "fake", "--api-base", server.base_url, cwd=project) as terminal:
            terminal.wait_for("›")
            terminal.send("what is this?")
            terminal.wait_for("what is this?")
            terminal.press("enter")
            terminal.wait_for("small project")
            assert "**" not in terminal.text()
            terminal.send("and the tests?\r")
            terminal.wait_for("Two tests fail.")
            terminal.wait_for(lambda lines: "waiting for you" in lines[0])
            terminal.press("ctrl+c", "ctrl+c")
            assert terminal.wait_for_exit() == 0
        assert text_of(server.requests[0].messages[-1]) == "what is this?"
        assert "It is a **small** project." in server.requests[1].text
    (ended,) = of(home, "run_ended")
    assert ended["reason"] == "user"


def test_a_character_that_arrives_in_pieces_is_typed_and_escape_needs_no_key_after_it(home: Home, project: Path):
    with (
        ScriptedServer([say("Yes.")]) as server,
        home.screen("--model", "fake", "--api-base", server.base_url, cwd=project) as terminal,
    ):
        terminal.wait_for("explain this folder")
        terminal.press("?")
        terminal.wait_for("List commands")
        time.sleep(QUIET)
        terminal.press("esc")
        terminal.wait_gone("List commands")
        for byte in "né🙂".encode():
            terminal.send_bytes(bytes([byte]))
            time.sleep(APART)
        terminal.wait_for("né🙂")
        terminal.press("enter")
        terminal.wait_for("Yes.")


def test_messages_queue_steer_and_are_taken_back_while_a_step_streams(home: Home, project: Path):
    with (
        ScriptedServer([HELD, HELD, FIX_BOTH]) as server,
        on_goal(home, project, server, "--gate", "edits") as terminal,
    ):
        terminal.wait_for("I think about")
        terminal.send("a later thought\r")
        terminal.wait_for("1 queued")
        terminal.send("/queue")
        terminal.wait_for(re.compile("› +/queue$|› +/queue "))
        terminal.press("enter")
        terminal.wait_gone("1 queued")
        terminal.wait_for(re.compile("› +a later thought"))
        terminal.press("ctrl+s")
        server.wait_closed()
        requests = server.wait_requests(2)
        assert "a later thought" in text_of(requests[1].messages[-1])
        assert "I think" in requests[1].text, "what had arrived is kept"
        terminal.send("use plain sums")
        terminal.press("enter")
        terminal.wait_for("1 queued")
        server.release()
        requests = server.wait_requests(3)
        assert "use plain sums" in requests[2].text
        terminal.wait_for(re.compile(r"done +check passed"))
    kinds = [e["type"] for e in of(home, "queued", "unqueued", "interrupted")]
    assert kinds[:2] == ["queued", "unqueued"]
    assert "interrupted" in kinds


def test_escape_interrupts_pause_holds_one_step_goes_and_limits_change(home: Home, project: Path):
    with (
        ScriptedServer([HELD, read("calc/core.py"), read("NOTES.md"), FIX_BOTH]) as server,
        on_goal(home, project, server, "--gate", "edits") as terminal,
    ):
        terminal.wait_for("I think about")
        terminal.press("esc")
        server.wait_closed()
        terminal.wait_for("paused")
        assert len(server.requests) == 1
        terminal.send("/limit steps 55")
        terminal.wait_for(re.compile("› +/limit steps 55"))
        terminal.press("enter")
        terminal.wait_for("/55")
        terminal.press("f5")
        terminal.wait_for("read calc/core.py")
        server.wait_requests(2)
        terminal.wait_for(lambda lines: "paused" in lines[0])
        terminal.press("f4")
        terminal.wait_for(re.compile(r"done +check passed"))
    assert [e["budget"]["steps"] for e in of(home, "budget_changed")] == [55]
    (ended,) = of(home, "run_ended")
    assert ended["steps"] == 4


def test_keys_typed_before_a_proposal_was_painted_never_approve_it(home: Home, project: Path):
    with (
        ScriptedServer([Turn(text="wait for it", calls=FIX_BOTH.calls, hold_after=2)], then=HELD) as server,
        on_goal(home, project, server) as terminal,
    ):
        terminal.wait_for("wait")
        terminal.send("yes y")
        terminal.wait_for("yes y")
        server.release()
        terminal.wait_for("approve")
        terminal.send("y\t\r")
        terminal.wait_for(re.compile("queued|yes yy"))
        assert (project / "calc/core.py").read_text() == CORE
        assert of(home, "proposal_decided") == []
        terminal.press("f2")
        at_gate(terminal)
        terminal.press("n")
        terminal.wait_for(re.compile("rejected"))
        assert (project / "calc/core.py").read_text() == CORE


def test_esc_at_the_gate_closes_why_then_leaves_it_and_only_n_rejects(home: Home, project: Path):
    with ScriptedServer([FIX_BOTH], then=HELD) as server, on_goal(home, project, server) as terminal:
        at_gate(terminal)
        terminal.press("space")
        terminal.wait_for("skipped 1")
        terminal.press("i")
        terminal.wait_for("the gate is set to")
        terminal.press("esc")
        terminal.wait_gone("the gate is set to")
        terminal.press("esc")
        terminal.wait_for("F2 to decide")
        terminal.press("esc")
        terminal.wait_for("F2 returns to it, ^c interrupts")
        assert of(home, "proposal_decided", "interrupted") == []
        terminal.press("f2")
        terminal.wait_gone("F2 to decide")
        terminal.press("n")
        terminal.wait_for("rejected")
        assert [each["decision"] for each in of(home, "proposal_decided")] == ["reject"]


def test_ctrl_c_interrupts_a_step_that_waits_at_the_gate(home: Home, project: Path):
    with ScriptedServer([FIX_BOTH], then=HELD) as server, on_goal(home, project, server) as terminal:
        at_gate(terminal)
        terminal.press("esc")
        terminal.wait_for("F2 to decide")
        terminal.press("ctrl+c")
        terminal.wait_for("interrupted; press ^c again to leave")
        terminal.wait_gone("F2 to decide")
        assert (project / "calc/core.py").read_text() == CORE


def test_keys_that_come_in_one_burst_mean_what_was_typed(home: Home, project: Path):
    with ScriptedServer([HELD]) as server, on_goal(home, project, server) as terminal:
        terminal.wait_for("I think about")
        terminal.send("/limit steps 55\r")
        terminal.wait_for("/55")


@pytest.mark.parametrize("installed", [True, False])
def test_without_visual_and_editor_it_is_vi_where_that_is_installed(home: Home, project: Path, installed: bool):
    programs = project / "bin"
    programs.mkdir()
    for name in ("git", "python3", "bash", "sh", "env", *(("bwrap",) if shutil.which("bwrap") else ())):
        (programs / name).symlink_to(shutil.which(name) or "/bin/sh")
    if installed:
        (programs / "vi").write_text('#!/bin/sh\nprintf " by vi" >> "$1"\n')
        (programs / "vi").chmod(0o755)
    env = {"PATH": str(programs), "VISUAL": "", "EDITOR": ""}
    with (
        ScriptedServer([say("hello")]) as server,
        home.screen("--model", "fake", "--api-base", server.base_url, cwd=project, env=env) as terminal,
    ):
        terminal.wait_for("explain this folder")
        terminal.send("a message\x07")
        terminal.wait_for("a message by vi" if installed else "there is no editor: set EDITOR")
        terminal.press("ctrl+c", "ctrl+c")
        assert terminal.wait_for_exit() == 0


def test_the_editor_gets_the_letters_that_came_in_one_go_with_its_key(home: Home, project: Path):
    editor = project / "ed"
    editor.write_text('#!/bin/sh\nprintf " seen" >> "$1"\n')
    editor.chmod(0o755)
    home.env["EDITOR"] = str(editor)
    with (
        ScriptedServer([say("hello")]) as server,
        home.screen("--model", "fake", "--api-base", server.base_url, cwd=project) as terminal,
    ):
        terminal.wait_for("explain this folder")
        terminal.send("a message of many letters\x07")
        terminal.wait_for("a message of many letters seen")
        terminal.press("ctrl+c", "ctrl+c")
        assert terminal.wait_for_exit() == 0
