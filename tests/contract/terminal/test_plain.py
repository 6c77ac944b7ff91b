"""The session as lines of words, over a real pseudo-terminal."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from contract.terminal.goals import HELD, goal, on_goal
from fakes.project import CORE, FIX_ADD, FIX_MEAN, read
from fakes.rundry import RUNDRY, Home
from fakes.server import ScriptedServer
from fakes.terminal import Terminal
from fakes.turns import call, say

DRAWN = "─│╭╮╰╯━▐▌█•⋯"


def written(terminal: Terminal) -> str:
    return terminal.raw().decode()


def assert_only_lines(terminal: Terminal) -> None:
    text = written(terminal)
    assert "\x1b" not in text
    assert not [sign for sign in DRAWN if sign in text]
    assert "\r" not in text.replace("\r\n", "\n")


def test_a_goal_run_is_decided_with_words_and_nothing_is_painted_over(home: Home, project: Path):
    core = project / "calc/core.py"
    turns = [read("calc/core.py", "First I read the code."), FIX_ADD, FIX_MEAN, FIX_MEAN]
    with ScriptedServer(turns) as server, on_goal(home, project, server, "--plain", columns=200) as terminal:
        terminal.wait_for("Type approve")
        text = written(terminal)
        assert "model: First I read the code." in text
        assert re.search(r"step 1: read calc/core.py", text)
        assert "Proposal: edit calc/core.py, 1 hunk, 1 line added, 1 removed." in text
        assert re.search(r"remove \d+:     return a - b", text)
        assert re.search(r"add \d+:     return a \+ b", text)
        assert core.read_text() == CORE
        terminal.send("approve\n")
        server.wait_requests(3)
        assert "a + b" in core.read_text()
        terminal.wait_for(re.compile(r"remove \d+:.*len\(values\)"))
        terminal.send("budget\n")
        terminal.wait_for(re.compile(r"^steps: \d+ of 40 used"))
        terminal.send("reject keep the parentheses\n")
        requests = server.wait_requests(4)
        assert "keep the parentheses" in requests[3].text
        assert "(len(values) + 1)" in core.read_text()
        terminal.wait_for(lambda lines: sum("Type approve" in line for line in lines) == 3)
        terminal.send("approve\n")
        terminal.wait_for(re.compile(r"The run ended: done after \d steps: check passed"))
        terminal.send("quit\n")
        assert terminal.wait_for_exit() == 0
        assert_only_lines(terminal)
        said = [line for line in written(terminal).splitlines() if line.startswith("Proposal")]
        assert len(said) == 3, "each proposal is printed once"


def test_some_hunks_are_approved_by_their_numbers(home: Home, project: Path):
    long = project / "calc/long.py"
    long.write_text("".join(f"x{n} = {n}\n" for n in range(30)))
    edits = [{"old_text": "x2 = 2\n", "new_text": "x2 = 0\n"}, {"old_text": "x25 = 25\n", "new_text": "x25 = 0\n"}]
    turns = [read("calc/long.py"), call("edit_file", path="calc/long.py", edits=edits)]
    with ScriptedServer(turns) as server, on_goal(home, project, server, "--plain", columns=200) as terminal:
        terminal.wait_for("approve hunks 1 2 for some of them")
        terminal.send("approve hunks 7\n")
        terminal.wait_for("this proposal has 2 hunks")
        terminal.send("reason the second one is wrong\n")
        terminal.wait_for("The reason is sent with your decision")
        terminal.send("approve hunks 1\n")
        assert "the second one is wrong" in server.wait_requests(3)[2].text
        assert "x2 = 0\n" in long.read_text()
        assert "x25 = 25\n" in long.read_text()


@pytest.mark.parametrize("variable", [{"TERM": "dumb"}, {"RUNDRY_PLAIN": "1"}])
def test_a_simple_terminal_gets_lines_without_being_asked(home: Home, project: Path, variable: dict[str, str]):
    command = "; ".join(f"export {name}={value}" for name, value in variable.items())
    with ScriptedServer([HELD]) as server:
        argv = ["sh", "-c", f'{command}; exec "$@"', "sh", str(RUNDRY), *goal(server)]
        with Terminal(argv, env=home.env, cwd=project) as terminal:
            terminal.wait_for("2 failing")
            server.wait_requests(1)
            terminal.press("ctrl+c")
            terminal.wait_for("interrupted")
            terminal.send("quit\n")
            terminal.wait_for("Type leave (the run continues)")
            terminal.send("stop\n")
            assert terminal.wait_for_exit() in (0, 130)
            assert_only_lines(terminal)


def test_a_question_is_answered_with_a_number(home: Home, project: Path):
    asks = call("ask_person", question="Which one?", options=["the first", "the second"])
    with ScriptedServer([asks, HELD]) as server, on_goal(home, project, server, "--plain") as terminal:
        terminal.wait_for("Which one?")
        terminal.wait_for("2: the second")
        terminal.send("2\n")
        assert "the second" in server.wait_requests(2)[1].text


def test_help_status_and_a_wrong_command_answer_in_one_line_each(home: Home, project: Path):
    with ScriptedServer([HELD]) as server, on_goal(home, project, server, "--plain", columns=200) as terminal:
        terminal.wait_for("2 failing")
        terminal.send("help\n")
        terminal.wait_for("At the gate: approve, reject REASON")
        terminal.send("status\n")
        terminal.wait_for(re.compile(r"gate (ask|effects)\. model .*fake"))
        terminal.send("/nosuch\n")
        terminal.wait_for("/nosuch: no such command; type help for those that work here")
        terminal.send("/board\n")
        terminal.wait_for("/board: this command needs the screen")
        terminal.send("/edit x\n")
        terminal.wait_for("/edit needs the screen: change the file in your own editor")
        terminal.send("/limit steps 55\n")
        terminal.wait_for("limits: steps 55")
        terminal.send("budget\n")
        terminal.wait_for(re.compile(r"^steps: \d+ of 55 used"))
        terminal.press("ctrl+d")
        assert terminal.wait_for_exit() == 0
        assert "the run continues: rundry watch" in written(terminal)


LONG = "Because a change without reading is a guess, I will first look at the file that you named, then decide."


def test_lines_break_between_words_at_the_width_of_the_terminal(home: Home, project: Path):
    argv = ["--plain", "--loop", "chat", "--model", "fake", "--api-base"]
    with (
        ScriptedServer([say(LONG + " " + "x" * 70)]) as server,
        home.screen(*argv, server.base_url, "look", cwd=project, columns=40) as terminal,
    ):
        terminal.wait_for("Your turn: type a message.")
        rows = written(terminal).splitlines()
        begin = rows.index(next(row for row in rows if row.startswith("model: Because")))
        shown = rows[begin : rows.index("x" * 70)]
        assert " ".join(shown) == f"model: {LONG}"
        assert max(map(len, shown)) <= 40
        terminal.send("quit\n")


def test_find_rewind_and_control_work_with_words(home: Home, project: Path):
    turns = [say("The first answer has a needle."), say("The second one has none."), say("Read.")]
    argv = ["--plain", "--loop", "chat", "--model", "fake", "--gate", "auto", "--api-base"]
    with (
        ScriptedServer(turns) as server,
        home.screen(*argv, server.base_url, "look for it", cwd=project, columns=200) as terminal,
    ):
        turn = "Your turn: type a message."
        terminal.wait_for(turn)
        terminal.send("and now?\n")
        terminal.wait_for(lambda lines: sum(turn in line for line in lines) == 2)
        terminal.send("/find NEEDLE\n")
        terminal.wait_for("1 line with NEEDLE")
        terminal.send("/find nothing of this\n")
        terminal.wait_for("not found")
        terminal.send("/rewind\n")
        terminal.wait_for("3: before your message: and now?")
        terminal.send("no\n")
        terminal.wait_for("nothing was changed")
        terminal.send("/rewind 99\n")
        terminal.wait_for("then a number from 1 to 4")
        terminal.send("/rewind 3\n")
        terminal.wait_for("Your message was: and now?")
        terminal.wait_for(re.compile("back to before .and now"))
        terminal.send("/control\n")
        terminal.wait_for("you are in control")
        terminal.send("touch made.txt\n")
        terminal.wait_for(re.compile("^made.txt changed by command"))
        terminal.send("/control I made a file\n")
        terminal.wait_for("you returned control to the model")
        assert (project / "made.txt").exists()
        terminal.send("go on\n")
        text = server.wait_requests(3)[2].text
        assert "I made a file" in text
        assert "The second one has none." not in text
        terminal.send("quit\n")
