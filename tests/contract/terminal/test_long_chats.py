"""A long chat on the real program: back to a turn with its files, a summary, and the next morning."""

from __future__ import annotations

import os
import re
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from fakes.project import CORE
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.terminal import Terminal
from fakes.turns import Turn, call, edit, say

EDITS = (
    edit("calc/core.py", "return a - b", "return a + b"),
    say("The first is done."),
    call("write_file", path="notes.txt", content="what I did\n"),
    say("The second is done."),
)
PROSE = "rivers "
"""A word of the scripted prose."""


def chat(server: ScriptedServer) -> list[str]:
    return ["repair add", "--gate", "edits", "--model", "fake", "--api-base", server.base_url]


def press_until(terminal: Terminal, key: str, want: str) -> str:
    """Press a key until it has an effect: a dialog ignores those that came before it was painted."""
    while True:
        terminal.press(key)
        with suppress(TimeoutError):
            return terminal.wait_for(want, timeout=2)


def type_line(terminal: Terminal, text: str) -> None:
    terminal.send(text)
    terminal.press("enter")


def two_turns(terminal: Terminal) -> None:
    """Both turns, each of which changes a file."""
    terminal.wait_for("The first is done.")
    terminal.wait_for("waiting for you")
    type_line(terminal, "now the notes")
    terminal.wait_for("The second is done.")
    terminal.wait_for("waiting for you")


def test_a_rewind_shows_what_would_change_and_leaves_what_somebody_else_changed(home: Home, project: Path):
    with (
        ScriptedServer([*EDITS]) as server,
        home.screen(*chat(server), cwd=project, rows=24, columns=80) as terminal,
    ):
        two_turns(terminal)
        (project / "notes.txt").write_text("mine\n")
        type_line(terminal, "/rewind")
        terminal.wait_for("▸ now the notes")
        terminal.press("home")
        terminal.wait_for("▸ repair add")
        page = press_until(terminal, "enter", "restores 1 file, leaves 1 file")
        assert "notes.txt   stays: not undone, because someone changed it since" in page
        terminal.press("down")
        page = terminal.wait_for(re.compile(r"\+ +return a - b"))
        assert re.search(r"− +return a \+ b", page), page
        terminal.press("esc")
        terminal.wait_for("▸ repair add")
        assert "return a + b" in (project / "calc/core.py").read_text()
        press_until(terminal, "enter", "restores 1 file, leaves 1 file")
        screen = press_until(terminal, "y", "back to before")
        assert "notes.txt: not" in screen and "someone changed it since" in screen
        assert (project / "calc/core.py").read_text() == CORE
        assert (project / "notes.txt").read_text() == "mine\n"


def test_a_turn_after_which_nothing_changed_is_rewound_by_enter_alone(home: Home, project: Path):
    with (
        ScriptedServer([say("One."), say("Two.")]) as server,
        home.screen(*chat(server), cwd=project) as terminal,
    ):
        terminal.wait_for("One.")
        terminal.wait_for("waiting for you")
        type_line(terminal, "again")
        terminal.wait_for("Two.")
        terminal.wait_for("waiting for you")
        type_line(terminal, "/rewind")
        terminal.wait_for("▸ again")
        press_until(terminal, "enter", "back to before “again”")


def test_a_compaction_is_one_row_with_the_summary_and_what_is_kept_can_be_read(home: Home, project: Path):
    turns = [
        Turn(tokens=900),
        say("The second answer. " + " ".join(map(str, range(400)))),
        say("The third answer."),
        say("Add was repaired.\nNothing is open."),
        say("Yes."),
    ]
    with (
        ScriptedServer(turns) as server,
        home.screen(*chat(server), "--context", "8000", cwd=project, rows=40, columns=100) as terminal,
    ):
        terminal.wait_for("waiting for you")
        type_line(terminal, "and now?")
        terminal.wait_for("The second answer.")
        terminal.wait_for("waiting for you")
        type_line(terminal, "go on")
        terminal.wait_for("The third answer.")
        terminal.wait_for("waiting for you")
        type_line(terminal, "/compact")
        screen = terminal.wait_for("conversation compacted: instead of the messages above")
        assert terminal.wait_for("waiting for you").count("Nothing is open.") == 1, screen
        type_line(terminal, "/compact show")
        page = terminal.wait_for("The model reads")
        assert re.search(r"summary +Summary of the conversation so far:", page), page
        assert "Add was repaired." in page and re.search(r"you +repair add", page) and PROSE not in page
        terminal.press("esc")
        terminal.wait_gone("The model reads")
        type_line(terminal, "/compact undo")
        terminal.wait_for("undone: the messages above are sent to the model again")
        type_line(terminal, "/compact show")
        page = terminal.wait_for("The model reads")
        assert PROSE in page and "Summary of" not in page
        terminal.press("esc")
        terminal.wait_gone("The model reads")
        type_line(terminal, "sure?")
        terminal.wait_for("Yes.")
        texts = server.wait_requests(5)[4].text
        assert PROSE in texts and "Add was repaired" not in texts


def test_the_next_morning_one_line_says_what_is_different_and_the_model_reads_it_once(home: Home, project: Path):
    with ScriptedServer([*EDITS, say("Good morning."), say("Still here."), say("And now.")]) as server:
        with home.screen(*chat(server), cwd=project) as terminal:
            two_turns(terminal)
            home.end_runners()
        (project / "notes.txt").write_text("mine\n")
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "core.hooksPath=/dev/null"]
        later = {**os.environ, "GIT_COMMITTER_DATE": f"{int(time.time()) + 5} +0000"}  # git's log has whole seconds
        subprocess.run([*git, "commit", "-qam", "by hand"], cwd=project, check=True, env=later)
        commits = subprocess.run([*git, "log", "--format=%H"], cwd=project, check=True, capture_output=True, text=True)
        new, old = (commit[:9] for commit in commits.stdout.split()[:2])
        for message, answer in (("hello", "Good morning."), ("again", "Still here.")):
            with home.screen("-c", cwd=project, columns=160) as terminal:
                line = f"1 file changed since: notes.txt · git HEAD moved {old}..{new}"
                screen = terminal.wait_for(line if message == "hello" else "1 file changed since: notes.txt")
                assert "core.py" not in screen.rpartition("resumed")[2]
                type_line(terminal, message)
                terminal.wait_for(answer)
                terminal.wait_for("waiting for you")
                home.end_runners()
        text = server.wait_requests(6)[5].text
        assert text.count("These files were changed since you saw or wrote them: notes.txt.") == 1, text
        assert text.count(f"HEAD moved from {old} to {new}") == 1


def test_in_lines_a_compaction_prints_the_summary_and_what_the_model_reads(home: Home, project: Path):
    summary = say("Add was repaired.\nNothing is open.")
    turns = [Turn(tokens=900), say("The second answer. " + " ".join(map(str, range(400)))), say("Third."), summary]
    with (
        ScriptedServer(turns) as server,
        home.screen("--plain", *chat(server), "--context", "8000", cwd=project, rows=60, columns=200) as terminal,
    ):
        for number, message in enumerate(("and now?", "go on", "/compact"), 1):
            terminal.wait_for(lambda lines, number=number: sum("Your turn" in line for line in lines) == number)
            terminal.send(f"{message}\n")
        terminal.wait_for("conversation compacted: instead of the messages above")
        terminal.wait_for(lambda lines: "Nothing is open." in lines)
        terminal.send("/compact show\n")
        terminal.wait_for("summary: Summary of the conversation so far:")
        terminal.wait_for("you: repair add (")
        terminal.send("quit\n")
