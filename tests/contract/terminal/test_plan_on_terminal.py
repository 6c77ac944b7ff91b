"""The model's plan above the message box, in the real program."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from contract.terminal.goals import at_gate
from fakes.project import CORE
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import call, edit, say

BEGUN = call("update_plan", lines=["[x] read the tests", "[ ] run the suite", "[>] repair add", "fix mean"])
FINISHED = call(
    "update_plan",
    plan=[
        {"step": step, "status": "completed"} for step in ("read the tests", "repair add", "fix mean", "run the suite")
    ],
)
EDIT = edit("calc/core.py", "return a - b", "return a + b")


def on(server: ScriptedServer) -> list[str]:
    return ["repair it", "--model", "fake", "--api-base", server.base_url]


def plan_rows(screen: str) -> list[str]:
    return [line.strip() for line in screen.splitlines() if re.match(r" +[▸○]  ", line)]


@pytest.mark.parametrize(("rows", "columns", "shown"), [(40, 120, 3), (24, 80, 1)])
def test_a_plan_stands_above_the_message_box_until_all_of_it_is_done(
    home: Home, project: Path, rows: int, columns: int, shown: int
):
    assert "return a - b" in CORE
    turns = [BEGUN, EDIT, FINISHED, say("All is done.")]
    with (
        ScriptedServer(turns) as server,
        home.screen(*on(server), cwd=project, rows=rows, columns=columns) as terminal,
    ):
        found = plan_rows(at_gate(terminal))
        assert len(found) == shown
        assert re.fullmatch(r"▸  repair add +plan  1 of 4 done", found[0]), found
        assert found[1:] == ["○  run the suite", "○  fix mean"][: shown - 1]
        terminal.press("y")
        screen = terminal.wait_for("All is done.")
        assert not plan_rows(screen), screen
        assert "plan: 4 of 4 done" in screen and "update_plan" not in screen


def test_a_cleared_conversation_has_no_plan(home: Home, project: Path):
    with (
        ScriptedServer([BEGUN, say("Planned.")]) as server,
        home.screen(*on(server), cwd=project) as terminal,
    ):
        assert plan_rows(terminal.wait_for("Planned."))
        terminal.send("/clear")
        terminal.press("enter")
        assert not plan_rows(terminal.wait_for("conversation cleared"))
