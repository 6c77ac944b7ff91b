"""The real command in a pseudo-terminal: what a person sees, types and decides (docs/requirements.md 5, 6, 9)."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import pytest
from fakes.project import CHECK, CORE, FIX_ADD, FIX_BOTH, FIX_MEAN, read
from fakes.rundry import Home
from fakes.server import ScriptedServer, text_of
from fakes.terminal import Terminal
from fakes.turns import Turn, call, say

from rundry.agent.journal import Journal
from rundry.agent.protocol import Stamped, event_type, to_json_line

HELD = Turn(text="I think about it for a while", hold_after=4)


def goal(server: ScriptedServer) -> list[str]:
    return ["fix the failing suite", "--until", CHECK, "--model", "fake", "--api-base", server.base_url]


def on_goal(
    home: Home,
    project: Path,
    server: ScriptedServer,
    *more: str,
    rows: int = 40,
    columns: int = 120,
    truecolor: bool = True,
) -> Terminal:
    """The screen of a run that has to turn the suite green."""
    return home.screen(*goal(server), *more, cwd=project, rows=rows, columns=columns, truecolor=truecolor)


def recorded(home: Home) -> list[Stamped]:
    """What the newest run's journal holds."""
    journal = Journal.open(home.journals()[-1])
    try:
        return journal.read()
    finally:
        journal.close()


def of(home: Home, *kinds: str) -> list[dict]:
    return [json.loads(to_json_line(s)) for s in recorded(home) if event_type(s.event) in kinds]


def at_gate(terminal: Terminal) -> str:
    """The screen, once a proposal stands there whole and keys go to it; else the footer says how to get there."""

    def ready(lines: list[str]) -> bool:
        text = "\n".join(lines)
        is_drawn = re.search(r"\d of \d", text) or not re.search(r"\d hunks? +\+\d", text)
        return bool("approve" in text and is_drawn and "F2 gate" not in lines[-1])

    return terminal.wait_for(ready)


def quit_now(terminal: Terminal) -> int:
    """Ctrl+C twice, then stop now."""
    terminal.press("ctrl+c", "ctrl+c")
    terminal.wait_for("What should happen to it?")
    terminal.press("s")
    return terminal.wait_for_exit()


def test_a_goal_run_from_keystroke_to_green_with_a_person_at_the_gate(home: Home, project: Path):
    core = project / "calc/core.py"
    turns = [read("calc/core.py", "First I read the code."), FIX_ADD, FIX_MEAN, FIX_MEAN]
    with ScriptedServer(turns) as server, on_goal(home, project, server) as terminal:
        terminal.wait_for("rundry")
        terminal.wait_for("fix the failing suite")
        terminal.wait_for("waiting for you")
        screen = at_gate(terminal)
        assert "return a - b" in screen
        assert "return a + b" in screen
        assert "calc/core.py" in screen
        assert core.read_text() == CORE, "nothing lands before it was approved"
        terminal.press("y")
        server.wait_requests(3)
        assert "a + b" in core.read_text()
        terminal.wait_for("len(values)")
        at_gate(terminal)
        terminal.press("tab")
        terminal.wait_for("reason?")
        terminal.send("keep the parentheses")
        terminal.wait_for("keep the parentheses")
        terminal.press("enter")
        terminal.wait_for('reason: "keep the parentheses"')
        terminal.press("n")
        requests = server.wait_requests(4)
        assert "keep the parentheses" in requests[3].text
        assert "(len(values) + 1)" in core.read_text()
        terminal.wait_for(re.compile(r"^ +4 +edit"))
        at_gate(terminal)
        terminal.press("y")
        screen = terminal.wait_for(re.compile(r"done +check passed"))
        assert "First I read the code." in screen
        assert re.search(r"step +4/40", screen)
        assert "ended" in screen
        terminal.press("ctrl+c", "ctrl+c")
        assert terminal.wait_for_exit() == 0
    decisions = [(e["decision"], e["by"], e["reason"]) for e in of(home, "proposal_decided")]
    assert decisions == [
        ("approve", "person", None),
        ("reject", "person", "keep the parentheses"),
        ("approve", "person", None),
    ]
    (ended,) = of(home, "run_ended")
    assert (ended["reason"], ended["steps"], ended["files_changed"]) == ("done", 4, ["calc/core.py"])


@pytest.mark.parametrize("truecolor", [True, False])
def test_what_is_added_and_what_is_removed_stand_on_grounds_of_their_own(home: Home, project: Path, truecolor: bool):
    with (
        ScriptedServer([FIX_ADD]) as server,
        on_goal(home, project, server, columns=100, truecolor=truecolor) as terminal,
    ):
        at_gate(terminal)
        grounds = {text: terminal.colours(text)[1] for text in ("rundry", "return a - b", "return a + b")}
    assert len(set(grounds.values())) == 3, grounds


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


def test_a_command_waits_at_the_gate_with_its_hidden_signs_shown(home: Home, project: Path):
    hostile = "touch made # \x1b[2Jgone \u202eevil [@click=app.quit]x[/]"
    with (
        ScriptedServer([call("run_command", command=hostile), FIX_BOTH]) as server,
        on_goal(home, project, server, "--gate", "edits") as terminal,
    ):
        screen = at_gate(terminal)
        assert "touch made" in screen
        assert "[@click=app.quit]x[/]" in screen
        assert "\u202e" not in terminal.raw().decode(errors="replace")
        assert b"\x1b[2Jgone" not in terminal.raw()
        assert not (project / "made").exists()
        terminal.press("n")
        terminal.wait_for(re.compile(r"done +check passed"))
    assert not (project / "made").exists()


@pytest.mark.parametrize(("rows", "columns"), [(24, 80), (40, 120), (30, 50)])
def test_the_screen_fits_its_size_and_reflows(home: Home, project: Path, rows: int, columns: int):
    with ScriptedServer([HELD]) as server, on_goal(home, project, server, rows=rows, columns=columns) as terminal:
        terminal.wait_for("I think about")
        lines = terminal.screen()
        assert lines[0].strip().startswith("rundry")
        assert re.search(r"1/40", lines[1])
        assert any(line.lstrip().startswith("›") for line in lines[-6:])
        assert len(lines[-1].strip()) > 5, "the footer says what can be done"
        terminal.resize(24, 100)
        terminal.wait_for(lambda found: len(found) == 24 and any("›" in line for line in found[-6:]))


def test_a_terminal_that_goes_away_leaves_the_run_going_and_watch_shows_its_end(home: Home, project: Path):
    with ScriptedServer([HELD, FIX_BOTH]) as server:
        with on_goal(home, project, server, "--gate", "edits") as terminal:
            terminal.wait_for("I think about")
            terminal.hang_up()
            server.release()
            server.wait_requests(2)
        with home.screen("watch", cwd=project) as again:
            again.wait_for(re.compile(r"done +check passed"))
            again.wait_for("I think about it for a while")
            again.press("ctrl+c", "ctrl+c")
            assert again.wait_for_exit() == 0
    (ended,) = of(home, "run_ended")
    assert ended["reason"] == "done"


def test_leaving_asks_whether_the_run_goes_on_and_a_kill_restores_the_terminal(home: Home, project: Path):
    with ScriptedServer([HELD]) as server, on_goal(home, project, server) as terminal:
        terminal.wait_for("I think about")
        terminal.press("ctrl+c", "ctrl+c")
        terminal.wait_for("What should happen to it?")
        terminal.press("esc")
        terminal.wait_gone("What should happen to it?")
        assert server.requests[0].closed_early is False
        assert quit_now(terminal) == 130
        shown = terminal.raw().rpartition(b"\x1b[?1049l")[2]
        assert b"-> user after" in shown, "the end stands on the screen that was"
    (ended,) = of(home, "run_ended")
    assert ended["reason"] == "user"


def test_a_signal_to_the_screen_restores_the_terminal(home: Home, project: Path):
    with ScriptedServer([HELD]) as server, on_goal(home, project, server) as terminal:
        terminal.wait_for("I think about")
        terminal.signal(signal.SIGTERM)
        terminal.wait_for_exit()
        assert b"\x1b[?1049l" in terminal.raw()
        assert b"Traceback" not in terminal.raw()


def asks_or_is_done(home: Home, lines: list[str]) -> bool:
    """The run ended, or the gate takes keys for the very proposal that is open."""
    if any(re.search(r"done +check passed", line) for line in lines):
        return True
    decided = {e["proposal_id"] for e in of(home, "proposal_decided")}
    waiting = [e["path"] for e in of(home, "proposal_opened") if e["proposal_id"] not in decided]
    gate = [line for line in lines if line.startswith("▌")]
    takes_keys = any(line.startswith("▌ y approve") for line in gate)
    return bool(waiting) and takes_keys and waiting[0] in gate[0]


def test_the_demo_turns_its_project_green_and_says_that_it_is_scripted(home: Home, project: Path):
    with home.screen("demo", cwd=project, env={"RUNDRY_DEMO_PACE": "0"}) as terminal:
        terminal.wait_for("scripted")
        for _ in range(12):
            screen = terminal.wait_for(lambda lines: bool(home.journals()) and asks_or_is_done(home, lines))
            if re.search(r"done +check passed", screen):
                break
            decided = len(of(home, "proposal_decided"))
            terminal.press("end", "y")  # a proposal longer than the screen wants its end seen
            terminal.wait_for(lambda lines, n=decided: len(of(home, "proposal_decided")) > n)
        terminal.wait_for(re.compile(r"done +check passed"))
    assert of(home, "run_ended")[0]["complete"] is True


def test_keys_that_come_in_one_burst_mean_what_was_typed(home: Home, project: Path):
    with ScriptedServer([HELD]) as server, on_goal(home, project, server) as terminal:
        terminal.wait_for("I think about")
        terminal.send("/limit steps 55\r")
        terminal.wait_for("/55")


def test_without_a_model_the_screen_says_what_was_looked_for_and_what_mends_it(home: Home, project: Path):
    with home.screen(cwd=project) as terminal:
        terminal.wait_for("No model is set up")
        terminal.wait_for("demo")
        terminal.press("ctrl+c", "ctrl+c")
        assert terminal.wait_for_exit() == 0
    assert home.journals() == []


def test_the_editor_gets_the_letters_that_came_in_one_go_with_its_key(home: Home, project: Path):
    editor = project / "ed"
    editor.write_text('#!/bin/sh\nprintf " seen" >> "$1"\n')
    editor.chmod(0o755)
    home.env["EDITOR"] = str(editor)
    with (
        ScriptedServer([say("hello")]) as server,
        home.screen("--model", "fake", "--api-base", server.base_url, cwd=project) as terminal,
    ):
        terminal.wait_for("? shows the keys")
        terminal.send("a message of many letters\x07")
        terminal.wait_for("a message of many letters seen")
        terminal.press("ctrl+c", "ctrl+c")
        assert terminal.wait_for_exit() == 0
