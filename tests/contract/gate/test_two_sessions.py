"""Two sessions of the real program in one folder (docs/decisions/0043, 10)."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
from contract.gate.test_gate_on_terminal import HELD
from fakes.project import git
from fakes.rundry import Home, Ran
from fakes.server import ScriptedServer
from fakes.terminal import Terminal
from fakes.turns import Turn, call, finish, say
from fakes.wire import text_of

LINES = "".join(f"line {n}\n" for n in range(1, 31))
READ = call("read_file", path="a.txt")
FILES = ("a.txt", "b.txt")


def edit_of(who: str, number: int) -> Turn:
    return call("edit_file", path="a.txt", old_text=f"line {number}\n", new_text=f"line {number} of {who}\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "shared"
    root.mkdir()
    for name in FILES:
        (root / name).write_text(LINES)
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "First")
    return root


def chat(home: Home, folder: Path, server: ScriptedServer) -> Terminal:
    return home.screen("go", "--model", "fake", "--api-base", server.base_url, "--gate", "ask", cwd=folder)


def test_a_conflict_with_another_session_names_it_and_both_edits_can_be_kept(home: Home, folder: Path):
    with (
        ScriptedServer([READ, edit_of("A", 5)], then=HELD) as one,
        ScriptedServer([READ, edit_of("B", 5)], then=HELD) as two,
        chat(home, folder, one) as first,
    ):
        first.wait_for("▌ y approve")
        (run_id,) = (path.stem for path in home.journals())
        with chat(home, folder, two) as second:
            second.wait_for("another run works in this folder")
            second.wait_for("▌ y approve")
            first.press("y")
            second.wait_for(f"conflict with session {run_id}")
            second.wait_for("line 5 of A")
            second.wait_for("line 5 of B")
            second.wait_for("▌ r ask the model again")
            assert "line 5 of A" in (folder / "a.txt").read_text()
            second.press("r")
            request = two.wait_requests(3)[2]
            assert "Nothing was written" in request.answer_to()
            assert f"Another session ({run_id}) changed a.txt." in request.text


def test_what_another_session_changed_is_reported_before_the_next_call_and_read_before_it_is_replaced(
    home: Home, folder: Path
):
    again = call("write_file", path="a.txt", content="all of it\n")
    with (
        ScriptedServer([READ, say("I know it."), again], then=HELD) as one,
        ScriptedServer([edit_of("B", 7)], then=say("Done.")) as two,
        chat(home, folder, one) as first,
    ):
        first.wait_for("I know it.")
        with chat(home, folder, two) as second:
            second.wait_for("▌ y approve")
            second.press("y")
            second.wait_for("Done.")
        run_id = home.journals()[-1].stem
        first.send("more")
        first.press("enter")
        first.wait_for(f"Another session ({run_id}) changed a.txt.")
        refused = one.wait_requests(4)
        assert "read them again before you rely on it" in refused[2].text
        assert refused[3].text.count("read them again before you rely on it") == 1, "it is sent once"
        assert "a.txt was changed since you read it. Nothing was changed. These" in refused[3].answer_to()
        assert "line 7 of B" in refused[3].answer_to()
    assert "line 7 of B" in (folder / "a.txt").read_text()


@pytest.mark.parametrize("home_without_layers", ["landlock"], indirect=True)
def test_without_layers_an_edit_of_another_session_is_not_a_change_of_a_command(
    home_without_layers: Home, folder: Path
):
    home = home_without_layers
    waits = "echo ready; while [ ! -e go ]; do sleep 0.05; done; echo made > made.txt"
    at = ("--model", "fake", "--gate", "auto")
    with (
        ScriptedServer([READ, edit_of("B", 2), call("run_command", command=waits)], then=say("Done.")) as two,
        ScriptedServer([edit_of("A", 5)], then=say("Done.")) as one,
        home.start("run", "go", "--headless", "--json", *at, "--api-base", two.base_url, cwd=folder) as second,
    ):
        second.wait_event("output_arrived")
        ran = home.run("run", "go", "--headless", *at, "--api-base", one.base_url, cwd=folder)
        assert "line 5 of A" in (folder / "a.txt").read_text(), ran
        (folder / "go").touch()
        ended = second.finish()
    changed = [(event["path"], event["by"]) for event in ended.of("file_changed")]
    assert ("made.txt", "command") in changed and ("a.txt", "model") in changed, ended.story()
    assert ("a.txt", "command") not in changed, ended.story()


class RandomModel(ScriptedServer):
    """Reads, edits and replaces one file at random, and runs commands. Each change adds a line of its own."""

    def __init__(self, who: str, seed: int, *, in_layers: bool, most: int) -> None:
        super().__init__()
        self._who, self._choose, self._most = who, random.Random(f"{seed} {who}"), most
        self._in_layers = in_layers
        self.added = dict[str, str]()
        """Tool call to the line that it adds."""
        self._number = 0

    def _next(self, body: dict[str, Any]) -> Turn:
        self._number += 1
        if self._number >= self._most:
            return READ if self._number == self._most else finish("done", "a.txt:1")
        newest = body["messages"][-1]
        lines = re.findall(r"^\d+\| (.*)$", text_of(newest), re.MULTILINE) if newest["role"] == "tool" else []
        line = f"{self._who} {self._number}"
        turn = self._turn(line, lines if len(lines) >= 30 else [])
        turn = Turn(calls=turn.calls, delay=self._choose.choice((0, 0, 0.05, 0.2)))
        if turn.calls[0].name != "read_file":
            self.added[f"call_{self._number}_1"] = line
        return turn

    def _turn(self, line: str, seen: list[str]) -> Turn:
        number = self._choose.randint(1, 30)
        if seen and self._choose.random() < 0.8:
            at = self._choose.randint(0, len(seen))
            return call("write_file", path="a.txt", content="".join(f"{x}\n" for x in [*seen[:at], line, *seen[at:]]))
        match self._choose.randint(0, 5):
            case 0 | 1 | 2:
                return call("read_file", path="a.txt", end_line=100 + self._number)
            case 3 | 4:
                new = f"line {number}\n{line}\n"
                return call("edit_file", path="a.txt", old_text=f"line {number}\n", new_text=new)
            case _ if self._in_layers:
                pause = self._choose.choice((0, 0.1, 0.3))
                return call("run_command", command=f"sleep {pause}; sed -i 's/^line {number}$/&\\n{line}/' a.txt")
            case _:
                return call("run_command", command=f"echo {line} >> b.txt")


def kept_lines(ran: Ran, model: RandomModel) -> set[str]:
    """Return the lines of which the model read that they are in the file."""
    ends = {event["call_id"]: event for event in ran.of("tool_finished")}
    return {
        line
        for call_id, line in model.added.items()
        if (end := ends.get(call_id)) is not None and end["ok"] and not re.search(r"[Nn]ot applied", end["result"])
    }


def play(home: Home, folder: Path, seed: int, *, in_layers: bool, most: int = 25) -> None:
    """Let two random sessions work in the folder, and check that each line of either is there."""
    one, two = (RandomModel(who, seed, in_layers=in_layers, most=most) for who in ("A", "B"))
    at = ("run", "go", "--headless", "--json", "--model", "fake", "--gate", "auto", "--steps", str(most + 5))
    with (
        one,
        two,
        home.start(*at, "--api-base", one.base_url, cwd=folder) as first,
        home.start(*at, "--api-base", two.base_url, cwd=folder) as second,
    ):
        ended = [first.finish(), second.finish()]
    there = lines_in(folder)
    for ran, model in zip(ended, (one, two), strict=True):
        assert ran.exit_code == 0, ran
        lost = kept_lines(ran, model) - set(there)
        assert not lost, f"seed {seed}: {lost}\n{ran.story()}"
        assert kept_lines(ran, model), ran.story()
    assert [line for line in there if line.startswith("line ")] == LINES.splitlines() * 2
    assert len(there) == len(set(there)) + 30, "no line is there twice"
    undone = home.run("ctl", ended[0].events[0]["run_id"], "undo", "3", cwd=folder)
    lost = kept_lines(ended[1], two) - set(lines_in(folder))
    assert not lost, f"seed {seed}: the undo of the other session removed {lost}\n{undone}"


def lines_in(folder: Path) -> list[str]:
    return [line for name in FILES for line in (folder / name).read_text().splitlines()]


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 12))])
def test_no_line_of_two_sessions_that_edit_one_file_at_random_is_lost(home: Home, folder: Path, seed: int):
    play(home, folder, seed, in_layers=True)


@pytest.mark.long
@pytest.mark.parametrize("home_without_layers", ["landlock"], indirect=True)
def test_without_layers_no_line_of_two_sessions_is_lost(home_without_layers: Home, folder: Path):
    for seed in range(3):
        git(folder, "checkout", "-q", ".")
        play(home_without_layers, folder, seed, in_layers=False)
