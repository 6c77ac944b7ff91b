"""`/init` has the model propose an AGENTS.md, and `/cost` shows what the work took."""

from __future__ import annotations

import re
from pathlib import Path

from contract.terminal.goals import at_gate, on_goal
from fakes.project import FIX_BOTH
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import call, say

from rundry.tui.control.init_message import init_message

PAGE = "# The calculator\n\nRun the tests with `python3 -m unittest`.\n"


def test_init_sends_what_to_look_at_and_the_file_waits_at_the_gate_in_each_mode(home: Home, project: Path):
    turns = [call("write_file", path="AGENTS.md", content=PAGE), say("It is written.")]
    with (
        ScriptedServer(turns) as server,
        home.screen("--model", "fake", "--api-base", server.base_url, "--gate", "auto", cwd=project) as terminal,
    ):
        terminal.wait_for("explain this folder")
        terminal.send("/init\r")
        screen = at_gate(terminal)
        assert "write AGENTS.md" in screen and "# The calculator" in screen
        assert "Write AGENTS.md for this folder." in screen.splitlines()[0]
        assert "the commands to build" in server.requests[0].text
        assert not (project / "AGENTS.md").exists()
        terminal.press("y")
        terminal.wait_for("It is written.")
        assert (project / "AGENTS.md").read_text() == PAGE
    assert init_message(project).startswith("Bring AGENTS.md of this folder up to date.")


def test_init_without_a_model_says_so(home: Home, project: Path):
    with home.screen(cwd=project) as terminal:
        terminal.wait_for("rundry")
        terminal.send("/init\r")
        terminal.wait_for("there is no model yet: set one with /model, then /init")


def test_cost_shows_the_models_and_what_checks_took(home: Home, project: Path):
    with (
        ScriptedServer([FIX_BOTH]) as server,
        on_goal(home, project, server, "--gate", "edits", "--price", "1/2") as terminal,
    ):
        terminal.wait_for(re.compile(r"done +check passed"))
        terminal.press("esc")
        terminal.send("/cost\r")
        terminal.wait_for("Use of each model in this run")
        screen = terminal.wait_for(re.compile(r"checks +\d+ +0:0\d"))
        assert re.search(r"fake +1 ", screen), screen
