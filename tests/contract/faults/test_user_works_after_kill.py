"""What the user does between a kill and a resume stays, by real processes (docs/decisions/0036)."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from fakes.project import git
from fakes.rundry import Home, Ran
from fakes.server import ScriptedServer
from fakes.turns import Turn, call, edit, say
from fakes.users_work import all_of, work_as_user

NOTE = call("write_file", path="NOTES.md", content="# Notes\n\nLooked.\n")
HELD = Turn(text="Now I think about the rest of it", hold_after=3)
LOOPS = {"interval": ["--every", "1h", "--until", "grep -q done NOTES.md"]}


def killed(home: Home, project: Path, server: ScriptedServer, *argv: str, at: str = "text_arrived") -> None:
    """Start a run, and kill it with SIGKILL in its second answer, or while its command runs."""
    base = ["--headless", "--json", "--gate", "auto", "--model", "fake", "--api-base", server.base_url, "--steps", "9"]
    with home.start("run", "look after the notes", *base, *argv, cwd=project) as running:
        if at == "text_arrived":
            running.wait_event("file_changed")
        running.wait_event(at)
        if at != "text_arrived":
            while not (project / "begun").exists():
                pass
        running.signal(signal.SIGKILL)
        running.finish()


def resumed(home: Home, project: Path, *argv: str) -> Ran:
    return home.run("resume", "--headless", "--json", *argv, cwd=project)


def test_after_a_kill_in_a_pass_that_nobody_else_touched_the_pass_continues(home: Home, project: Path):
    bad = call("write_file", path="NOTES.md", content="# Notes\n\nstill\n")
    with ScriptedServer([NOTE, HELD, bad, say("so"), say("so")]) as server:
        before = all_of(project)
        killed(home, project, server, *LOOPS["interval"])
        ran = resumed(home, project, "--steps", "4")
    assert ran.of("pass_finished")[0]["verdict"] == "reverted", ran
    assert {**all_of(project), "git objects": ""} == {**before, "git objects": ""}


@pytest.fixture
def items(tmp_path: Path) -> Path:
    folder = tmp_path / "items"
    folder.mkdir()
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text(f"{name}: old\n")
    git(folder, "init", "-q", "-b", "work")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "First")
    return folder


def migrating(home: Home, items: Path, server: ScriptedServer, *, until: str) -> None:
    """Start a migration and kill it at an event, or as soon as a file with the name `begun` is there."""
    argv = ["find", "--recipe", "migrate", "--check", "grep -q new {file}", "--gate", "auto", "--headless", "--json"]
    with home.start(*argv, "--model", "fake", "--api-base", server.base_url, "*.txt", cwd=items) as running:
        if until == "begun":
            running.wait_event("proposal_decided")
            while not (items / "begun").exists():
                pass
        else:
            running.wait_event(until)
            running.wait_event("text_arrived")
        running.signal(signal.SIGKILL)
        running.finish()


def test_after_a_kill_in_a_command_of_an_item_the_work_of_the_user_stays(home: Home, items: Path):
    slow = call("run_command", command="touch begun; sleep 600.5")
    with ScriptedServer([slow], then=say("nothing to do")) as server:
        migrating(home, items, server, until="begun")
        work_as_user(items)
        (items / "b.txt").write_text("b.txt: the user's\n")
        before = all_of(items)
        ran = home.run("resume", "--headless", "--json", cwd=items)
        assert (ran.exit_code, ran.outcome["reason"]) == (5, "handoff"), ran
        assert all_of(items) == before and "b.txt" in ran.outcome["detail"]
        assert not [event for event in ran.of("file_changed") if event["path"] != "begun"], "nothing is blamed on it"
        again = home.run("resume", "--headless", "--json", "--steps", "9", cwd=items)
    assert all_of(items) == before, again
    assert again.of("work_started"), "a second resume continues"


def test_after_a_kill_in_an_item_its_edits_are_restored_and_nothing_else(home: Home, items: Path):
    with ScriptedServer([edit("a.txt", "old", "nope"), HELD], then=say("nothing to do")) as server:
        first = all_of(items)
        migrating(home, items, server, until="file_changed")
        assert (items / "a.txt").read_text() == "a.txt: nope\n"
        work_as_user(items)
        before = all_of(items)
        ran = home.run("resume", "--headless", "--json", "--steps", "4", cwd=items)
    after = all_of(items)
    assert after["a.txt"] == first["a.txt"] and ran.of("undone")[0]["files"] == ["a.txt"], ran
    of_the_item = ("a.txt", "git status")
    assert {k: v for k, v in after.items() if k not in of_the_item} == {
        k: v for k, v in before.items() if k not in of_the_item
    }


def test_after_a_kill_in_an_item_a_file_that_the_user_changed_since_stays_and_is_named(home: Home, items: Path):
    with ScriptedServer([edit("a.txt", "old", "nope"), HELD], then=say("nothing to do")) as server:
        migrating(home, items, server, until="file_changed")
        (items / "a.txt").write_text("a.txt: nope\nand the user's line\n")
        before = all_of(items)
        ran = home.run("resume", "--headless", "--json", cwd=items)
    assert (ran.exit_code, ran.outcome["reason"]) == (5, "handoff"), ran.story()
    assert all_of(items) == before and "a.txt" in ran.outcome["detail"]
