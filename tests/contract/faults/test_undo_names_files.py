"""An undo of a command takes back only what a person confirmed by name (docs/decisions/0036)."""

from __future__ import annotations

from pathlib import Path

from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import call, finish
from fakes.users_work import all_of

EDIT = call("write_file", path="NOTES.md", content="# Notes\n\nLooked.\n")
WAITS = call("run_command", command="touch begun; while test ! -e go; do sleep 0.05; done; rm go; echo x > made.txt")


def test_an_undo_of_a_command_leaves_what_the_user_did_and_names_it(home: Home, project: Path):
    argv = ["--headless", "--json", "--gate", "auto", "--model", "fake"]
    with (
        ScriptedServer([EDIT, WAITS, finish("looked", "NOTES.md")]) as server,
        home.start("run", "look", *argv, "--api-base", server.base_url, cwd=project) as running,
    ):
        running.wait_event("file_changed")
        while not (project / "begun").exists():
            pass
        (project / "calc" / "core.py").write_text("# by the user\n")
        (project / "by_the_user.txt").write_text("by the user\n")
        (project / "go").touch()
        ran = running.finish()
    assert ran.exit_code == 0, ran.story()
    before = all_of(project)
    run_id = ran.events[0]["run_id"]
    refused = home.run("ctl", run_id, "undo", cwd=project)
    assert refused.exit_code != 0 and all_of(project) == before
    for name in ("by_the_user.txt", "calc/core.py", "made.txt"):
        assert name in refused.stdout + refused.stderr, refused
    both = home.run("ctl", run_id, "undo", "2", cwd=project)
    assert both.exit_code == 0, both
    assert (project / "NOTES.md").read_text() != "# Notes\n\nLooked.\n", "the edit of a tool is proven"
    assert (project / "made.txt").exists() and (project / "by_the_user.txt").exists()
    assert (project / "calc/core.py").read_text() == "# by the user\n"


def test_a_file_that_a_person_names_is_undone_and_no_other(home: Home, project: Path):
    command = call("run_command", command="echo x > made.txt; echo y > other.txt")
    argv = ["--headless", "--json", "--gate", "auto", "--model", "fake"]
    with ScriptedServer([command, finish("looked", "made.txt")]) as server:
        ran = home.run("run", "look", *argv, "--api-base", server.base_url, cwd=project)
    assert ran.exit_code in (0, 4), ran.story()
    done = home.run("ctl", ran.events[0]["run_id"], "undo", "file", "made.txt", cwd=project)
    assert done.exit_code == 0 and not (project / "made.txt").exists() and (project / "other.txt").exists(), done
