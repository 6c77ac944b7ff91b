"""After an undo of what a run changed, its outcome is void in each place that shows it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes.project import CHECK, FIX_ADD, FIX_MEAN
from fakes.rundry import Home, Ran
from fakes.server import ScriptedServer


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
def done(home: Home, project: Path) -> Ran:
    """A run that is done after two edits."""
    with ScriptedServer([FIX_ADD, FIX_MEAN]) as server:
        argv = ["run", "fix it", "--headless", "--json", "--until", CHECK, "--gate", "auto"]
        ran = home.run(*argv, "--model", "fake", "--api-base", server.base_url, cwd=project)
    assert (ran.exit_code, ran.outcome["reason"]) == (0, "done"), ran
    return ran


@pytest.mark.parametrize(("undo", "words"), [(["undo"], "1 change was"), (["undo", "2"], "2 changes were")])
def test_an_undo_of_a_part_or_of_all_voids_the_outcome(home: Home, project: Path, done: Ran, undo, words):
    run_id = done.events[0]["run_id"]
    undone = home.run("ctl", run_id, *undo, cwd=project)
    assert undone.exit_code == 0, undone
    void = f"void: {words} undone since; it was done"
    assert f"-> {void} after 2 steps" in undone.stdout, undone

    listed = home.run("runs", cwd=project).stdout
    assert " void " in listed and " done " not in listed, listed
    (line,) = json.loads(home.run("runs", "--json", cwd=project).stdout)
    assert (line["undone_since"], line["complete"], line["evidence"]) == (int(words[0]), False, "")

    report = home.run("report", cwd=project).stdout
    assert "0 complete" in report, report
    told = json.loads(home.run("report", "--json", cwd=project).stdout)
    assert [each["reason"] for each in told["exits"]] == ["void"]
    assert told["evidenced"] == []

    for form in ("md", "html"):
        text = home.run("export", run_id, "--format", form, cwd=project).stdout
        assert f"{words} undone since; it was done" in text, form
        assert "not complete" in text, form
    events = [json.loads(e) for e in home.run("export", run_id, "--format", "jsonl", cwd=project).stdout.splitlines()]
    ended = next(e for e in events if e["type"] == "run_ended")
    assert (ended["reason"], ended["complete"], ended["undone_since"]) == ("done", True, 0), "it stays as recorded"

    watched = home.run("watch", run_id, "--plain", cwd=project, stdin="quit\n")
    assert "void" in watched.stdout + watched.stderr, watched


def test_a_new_end_after_the_undo_counts_again(home: Home, project: Path, done: Ran):
    run_id = done.events[0]["run_id"]
    home.run("ctl", run_id, "undo", cwd=project)
    with ScriptedServer([FIX_MEAN]) as server:
        argv = ["resume", run_id, "--hint", "again", "--headless", "--json"]
        ran = home.run(*argv, "--model", "fake", "--api-base", server.base_url, cwd=project)
    assert (ran.exit_code, ran.outcome["reason"]) == (0, "done"), ran
    (line,) = json.loads(home.run("runs", "--json", cwd=project).stdout)
    assert (line["undone_since"], line["complete"]) == (0, True)


def test_an_undo_that_changes_no_file_does_not_void_but_a_changed_file_does(home: Home, project: Path, done: Ran):
    run_id = done.events[0]["run_id"]
    core = project / "calc/core.py"
    core.write_text(core.read_text() + "# mine\n" * 3)
    core.write_text("everything is different now\n")
    home.run("ctl", run_id, "undo", cwd=project)
    (line,) = json.loads(home.run("runs", "--json", cwd=project).stdout)
    assert (line["undone_since"], line["complete"], line["changed_since"]) == (0, False, ["calc/core.py"])
    assert core.read_text() == "everything is different now\n"
