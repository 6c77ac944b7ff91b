"""What is unfinished at an end without a hand-off is shown on the same page ."""

from __future__ import annotations

from pathlib import Path

from fakes.project import CHECK, FIX_ADD
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import Turn


def test_a_run_that_a_limit_ended_shows_how_it_stands(home: Home, project: Path):
    with ScriptedServer([FIX_ADD, Turn(text="as far as I came")]) as server:
        argv = ["fix it", "--until", CHECK, "--steps", "1", "--gate", "edits", "--model", "fake"]
        with home.screen(*argv, "--api-base", server.base_url, cwd=project) as terminal:
            terminal.wait_for("raise the limit to continue")
            terminal.wait_for("⌥h hand-off")
            terminal.send("\x1bh")  # Alt+H
            page = terminal.wait_for("the run ended with it")
            assert "step budget: 1 of 1" in page
            assert "Raise the limit: look at why" in page
            assert "+    return a + b" in page
