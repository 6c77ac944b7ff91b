"""The real command in a pseudo-terminal: what a person sees, types and decides (docs/requirements.md 5, 6, 9)."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest
from contract.terminal.goals import HELD, at_gate, of, on_goal
from fakes.project import CORE, FIX_ADD, FIX_BOTH, FIX_MEAN, read
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.terminal import Terminal
from fakes.turns import call


def quit_now(terminal: Terminal) -> int:
    """Ctrl+C twice, then stop now."""
    terminal.press("ctrl+c", "ctrl+c")
    terminal.wait_for("What should happen to it?")
    terminal.press("s")
    return terminal.wait_for_exit()


def reject_with(terminal: Terminal, reason: str) -> None:
    terminal.press("tab")
    terminal.wait_for("reason?")
    terminal.send(reason)
    terminal.wait_for(reason)
    terminal.press("enter")
    terminal.wait_for(f'reason: "{reason}"')
    terminal.press("n")


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
        reject_with(terminal, "keep the parentheses")
        requests = server.wait_requests(4)
        assert "keep the parentheses" in requests[3].text
        assert "(len(values) + 1)" in core.read_text()
        terminal.wait_for(re.compile(r"^ +4 +edit"))
        terminal.wait_for("▌ y approve")
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
            terminal.wait_for_exit()  # else the runner, still below the screen, would be ended with it
            server.release()
            server.wait_requests(2)
        with home.screen("watch", cwd=project) as again:
            again.wait_for(re.compile(r"done +check passed"))
            again.wait_for("I think about it for a while")
            again.press("ctrl+c", "ctrl+c")
            assert again.wait_for_exit() == 0
    (ended,) = of(home, "run_ended")
    assert ended["reason"] == "done"


def test_leaving_asks_whether_the_run_continues_and_a_kill_restores_the_terminal(home: Home, project: Path):
    with ScriptedServer([HELD]) as server, on_goal(home, project, server) as terminal:
        terminal.wait_for("I think about")
        terminal.press("ctrl+c", "ctrl+c")
        terminal.wait_for("What should happen to it?")
        terminal.press("esc")
        terminal.wait_gone("What should happen to it?")
        assert server.requests[0].closed_early is False
        assert quit_now(terminal) == 130
        shown = terminal.raw().rpartition(b"\x1b[?1049l")[2]
        assert b"-> stopped after" in shown, "the end stands on the screen that was"
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


def test_without_a_model_the_screen_says_what_was_looked_for_and_what_mends_it(home: Home, project: Path):
    with home.screen(cwd=project) as terminal:
        terminal.wait_for("no key is set, no local server answers")
        terminal.wait_for("demo")
        terminal.press("ctrl+c", "ctrl+c")
        assert terminal.wait_for_exit() == 0
    assert home.journals() == []
