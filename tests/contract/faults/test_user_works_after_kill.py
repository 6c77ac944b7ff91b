"""What the user does between a kill and a resume stays, by real processes (docs/decisions/0036)."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
from fakes.project import git
from fakes.rundry import Home, Ran
from fakes.server import ScriptedServer
from fakes.turns import Turn, call, edit, say
from fakes.users_work import all_of, work_as_user

from rundry.agent.journal.journal import Journal

NOTE = call("write_file", path="NOTES.md", content="# Notes\n\nLooked.\n")
HELD = Turn(text="Now I think about the rest of it", hold_after=3)
LOOPS = {"interval": ["--every", "1h", "--until", "grep -q done NOTES.md", "--scope", "NOTES.md"]}


@pytest.fixture
def home(home_on_machines: Home) -> Home:
    """Where layers work, and where copies take their place."""
    return home_on_machines


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
    """Start a migration and kill it at an event."""
    argv = ["find", "--recipe", "migrate", "--check", "grep -q new {file}", "--gate", "auto", "--headless", "--json"]
    with home.start(*argv, "--model", "fake", "--api-base", server.base_url, "*.txt", cwd=items) as running:
        running.wait_event(until)
        if until == "file_changed":
            running.wait_event("text_arrived")
        running.signal(signal.SIGKILL)
        running.finish()


def kept_patch(home: Home, ran: Ran) -> bytes:
    journal = Journal.open_for_reading(home.journals()[-1])
    try:
        return journal.blobs.load(ran.of("worktree_finished")[0]["patch"])
    finally:
        journal.close()


def test_after_a_kill_in_a_command_of_an_item_the_work_of_the_user_stays(home: Home, items: Path):
    slow = call("run_command", command="touch begun; echo x >> b.txt; echo begun; sleep 600.5")
    with ScriptedServer([slow], then=say("nothing to do")) as server:
        migrating(home, items, server, until="output_arrived")
        work_as_user(items)
        (items / "b.txt").write_text("b.txt: the user's\n")
        before = all_of(items)
        ran = home.run("resume", "--headless", "--json", "--steps", "4", cwd=items)
    assert all_of(items) == before, ran.story()
    assert b"+++ b/begun" in kept_patch(home, ran) or b"b/begun" in kept_patch(home, ran)


def test_after_a_kill_in_an_item_nothing_of_it_is_there_and_its_patch_applies(home: Home, items: Path):
    with ScriptedServer([edit("a.txt", "old", "nope"), HELD], then=say("nothing to do")) as server:
        migrating(home, items, server, until="file_changed")
        assert (items / "a.txt").read_text() == "a.txt: old\n"
        work_as_user(items)
        before = all_of(items)
        ran = home.run("resume", "--headless", "--json", "--steps", "4", cwd=items)
    assert all_of(items) == before, ran.story()
    subprocess.run(["git", "apply", "-"], cwd=items, input=kept_patch(home, ran), check=True)
    assert (items / "a.txt").read_text() == "a.txt: nope\n"


def test_a_file_that_the_user_changed_since_a_kill_stays_and_its_item_is_worked_again(home: Home, items: Path):
    with ScriptedServer([edit("a.txt", "old", "nope"), HELD], then=say("nothing to do")) as server:
        migrating(home, items, server, until="file_changed")
        (items / "a.txt").write_text("a.txt: new by the user\n")
        before = all_of(items)
        ran = home.run("resume", "--headless", "--json", "--steps", "4", cwd=items)
    assert all_of(items) == before, ran.story()
    assert any(one["about"].endswith("a.txt") and one["ok"] for one in ran.of("work_finished")), ran.story()


def test_an_item_changes_its_file_alone_while_the_user_works(home: Home, items: Path):
    (items / "mine.txt.log").write_text("untracked\n")
    fixes = [edit(f"{name}.txt", "old", "new") for name in "ab"]
    with ScriptedServer([fixes[0], HELD, fixes[1]], then=say("nothing to do")) as server:
        argv = [
            "find",
            "--recipe",
            "migrate",
            "--check",
            "grep -q new {file} && test -e mine.txt.log",
            "--gate",
            "auto",
        ]
        argv += ["--headless", "--json", "--model", "fake", "--api-base", server.base_url, "[ab].txt"]
        with home.start(*argv, cwd=items) as running:
            running.wait_event("text_arrived")
            work_as_user(items)
            before = all_of(items)
            server.release()
            ran = running.finish()
    changed = {name for name, text in all_of(items).items() if before.get(name) != text}
    assert changed == {"b.txt", "git status"}, ran.story()
    assert ran.exit_code == 0 and (items / "a.txt").read_text() == "a.txt: new\n"
