"""The files that a run changed, with their diffs and their undo, in a real terminal (docs/requirements.md 6.8)."""

from __future__ import annotations

from pathlib import Path

import pytest
from contract.gate.test_gate_on_terminal import HELD
from fakes.project import CHECK, CORE
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import Call, Turn, calls

from rundry.agent.journal.journal import Journal
from rundry.agent.state.facts.standing_changes import standing_changes

FIXED = CORE.replace("return a - b", "return a + b").replace("(len(values) + 1)", "len(values)")
TURN = calls(
    Call("write_file", {"path": "calc/core.py", "content": FIXED}),
    Call("write_file", {"path": "notes.txt", "content": "fixed\n"}),
)


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (120, 40)])
def test_one_file_of_a_finished_run_is_undone_and_then_all_except_what_someone_changed(
    home: Home, project: Path, columns: int, rows: int
):
    core, notes = project / "calc/core.py", project / "notes.txt"
    options = ["--until", CHECK, "--gate", "edits", "--model", "fake"]
    with ScriptedServer([TURN], then=Turn(text="Both are fixed.")) as server:
        at = ["--api-base", server.base_url]
        with home.screen("fix it", *options, *at, cwd=project, columns=columns, rows=rows) as terminal:
            terminal.wait_for("✓ done")
            terminal.press("d")
            terminal.wait_for("2 changed files   +3 −2")
            terminal.wait_for("return a + b")
            terminal.press("down")
            terminal.wait_for("an empty file" if not notes.exists() else "fixed")
            terminal.press("u")
            terminal.wait_for("u again undoes notes.txt")
            assert notes.exists()
            terminal.press("u")
            terminal.wait_for("1 changed file   +2 −2")
            assert not notes.exists()
            assert core.read_text() == FIXED
            core.write_text("mine\n")
            terminal.press("U")
            terminal.wait_for("U again undoes calc/core.py")
            terminal.press("U")
            terminal.wait_for("not undone")
            terminal.press("up")
            terminal.wait_for("calc/core.py was not undone: ")
            assert core.read_text() == "mine\n"
            terminal.press("esc")
            terminal.wait_gone("changed file ")
    journal = Journal.open(home.journals()[0])
    try:
        assert [{*change.files} for change in standing_changes(journal).standing] == [{"calc/core.py"}]
    finally:
        journal.close()


def test_the_list_is_there_while_the_run_works_and_says_who_decided(home: Home, project: Path):
    options = ["--until", CHECK, "--model", "fake"]
    with (
        ScriptedServer([TURN], then=HELD) as server,
        home.screen("fix it", *options, "--api-base", server.base_url, cwd=project) as terminal,
    ):
        terminal.wait_for("▌ y approve")
        terminal.press("y")
        terminal.wait_for("2 of 2 files in this answer")
        terminal.send("\x1bd")
        terminal.wait_for("1 changed file   +2 −2")
        terminal.wait_for("approved by you")
        terminal.press("esc")
        terminal.wait_for("2 of 2 files in this answer")
