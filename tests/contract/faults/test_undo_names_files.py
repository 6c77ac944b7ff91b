"""An undo of a command takes back only what a person confirmed by name (docs/decisions/0036)."""

from __future__ import annotations

from pathlib import Path

from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import call, finish


def test_a_file_that_a_person_names_is_undone_and_no_other(home: Home, project: Path):
    command = call("run_command", command="echo x > made.txt; echo y > other.txt")
    argv = ["--headless", "--json", "--gate", "auto", "--model", "fake"]
    with ScriptedServer([command, finish("looked", "made.txt")]) as server:
        ran = home.run("run", "look", *argv, "--api-base", server.base_url, cwd=project)
    assert ran.exit_code in (0, 4), ran.story()
    done = home.run("ctl", ran.events[0]["run_id"], "undo", "file", "made.txt", cwd=project)
    assert done.exit_code == 0 and not (project / "made.txt").exists() and (project / "other.txt").exists(), done
