"""Dependency folders and sandboxes of a clean checkout (docs/requirements.md 2.3.9)."""

from __future__ import annotations

from pathlib import Path

from contract.checks.confirming import DONE, VENV_CHECK, confirmation, make_venv, run_goal, shell
from fakes.rundry import Home
from fakes.sandboxes import needs_bubblewrap
from fakes.turns import call
from fakes.visible_folders import path_without_bubblewrap


def test_a_dependency_that_an_edit_changed_does_not_make_it_done(home: Home, project: Path):
    packages = make_venv(project).relative_to(project)
    helper = call("write_file", path=f"{packages}/helper.py", content="def right(value): return True\n")
    turns = [call("read_file", path=f"{packages}/helper.py"), helper, shell("echo 'VALUE = 1' > state.py")]
    ran, _ = run_goal(home, project, turns, "--confirm", check=VENV_CHECK, path=None)
    assert (ran.exit_code, ran.outcome["reason"]) == (5, "handoff"), ran
    assert ran.outcome["evidence"]["rests_on"] == [f"{packages}/helper.py"]


def test_a_dependency_folder_that_came_during_the_run_does_not_make_it_done(home: Home, project: Path):
    turns = [call("write_file", path="node_modules/x.js", content="done\n")]
    ran, _ = run_goal(home, project, turns, "--confirm", check="grep -q done node_modules/x.js")
    assert (ran.exit_code, ran.outcome["reason"]) == (5, "handoff"), ran
    assert ran.outcome["evidence"]["rests_on"] == ["node_modules/x.js"]


@needs_bubblewrap
def test_a_checkout_cannot_write_to_a_dependency_folder(home: Home, project: Path):
    make_venv(project)
    check = f"{DONE} && ! touch .venv/new"
    ran, _ = run_goal(home, project, [shell("echo done > result.txt")], "--confirm-with", check, check=DONE)
    assert confirmation(ran)["result"] == "passed", ran
    assert not (project / ".venv/new").exists()


def test_with_landlock_the_check_runs_in_a_folder_of_its_own(home: Home, project: Path, tmp_path: Path):
    path = path_without_bubblewrap(tmp_path / "bin", home.env["PATH"])
    (project / "node_modules").mkdir()
    (project / "node_modules/x.js").write_text("right\n")
    check = f"grep -q right node_modules/x.js && {DONE} && test ! -e ignored.log"
    (project / ".gitignore").write_text("*.log\n")
    turns = [shell("echo done > result.txt")]
    ran, _ = run_goal(home, project, turns, "--confirm", check=check, path=path)
    assert ran.events[0]["sandbox"] == "landlock"
    assert confirmation(ran)["result"] == "passed", ran


def test_with_landlock_an_editable_install_cannot_be_confirmed(home: Home, project: Path, tmp_path: Path):
    make_venv(project)
    turns = [shell("echo 'VALUE = \"done\"' > state.py")]
    path = path_without_bubblewrap(tmp_path / "bin", home.env["PATH"])
    ran, _ = run_goal(home, project, turns, "--confirm", check=VENV_CHECK, path=path)
    found = confirmation(ran)
    assert (ran.exit_code, ran.outcome["reason"], found["result"]) == (5, "handoff", "not confirmed"), ran
    assert "the check passes, but is not confirmed" in ran.outcome["detail"]
    assert "leads back to the workspace" in found["detail"]


def test_with_landlock_a_check_that_names_the_workspace_cannot_be_confirmed(home: Home, project: Path, tmp_path: Path):
    path = path_without_bubblewrap(tmp_path / "bin", home.env["PATH"])
    check = f"grep -q done {project}/result.txt"
    ran, _ = run_goal(home, project, [shell("echo done > result.txt")], "--confirm", check=check, path=path)
    assert confirmation(ran)["result"] == "not confirmed", ran
    assert "absolute path" in confirmation(ran)["detail"]


@needs_bubblewrap
def test_a_linked_package_leads_into_the_checkout_and_caches_are_empty(home: Home, project: Path):
    (project / "app/node_modules/.cache").mkdir(parents=True)
    (project / "app/node_modules/.cache/built").write_text("stale\n")
    (project / "app/node_modules/part").symlink_to("../part")
    (project / "app/part").mkdir()
    (project / "app/part/index.js").write_text("old\n")
    check = "grep -q new app/node_modules/part/index.js"
    confirming = f"{check} && test ! -e app/node_modules/.cache/built"
    turns = [shell("echo new > app/part/index.js")]
    ran, _ = run_goal(home, project, turns, "--confirm-with", confirming, check=check)
    assert confirmation(ran)["result"] == "passed", ran.of("confirmation_finished")
    assert [f["path"] for f in ran.of("dependencies_recorded")[0]["folders"]] == ["app/node_modules"]
