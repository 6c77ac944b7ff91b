"""Runs of commit bfd0fbbe, which compared snapshots, are read, continued and undone (docs/decisions/0039)."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from fakes.project import CORE, FIX_ADD, FIX_MEAN, changed_files, git
from fakes.rundry import Home, Ran
from fakes.server import ScriptedServer
from fakes.turns import say
from fakes.users_work import all_of, work_as_user
from integrity.folds.every_fold import disagreements_of
from old_journals.opening import NAMES, Recorded, moved, unpack
from sampling import sampled

KILLED = [name for name in NAMES if name not in ("done", "handoff")]
FORMATS = ("jsonl", "md", "html", "otlp", "atif")
FIXED_ADD = CORE.replace("a - b", "a + b")
FIXED = CORE.replace("a - b", "a + b").replace("(len(values) + 1)", "len(values)")


def run(at: Recorded, *argv: str, turns: tuple[object, ...] = ()) -> Ran:
    with ScriptedServer([*turns], then=say("nothing more")) as server:  # type: ignore[list-item]
        model = ["--model", "fake", "--api-base", server.base_url] if argv[0] in ("resume", "approve") else []
        return at.home.run(*argv, *model, cwd=at.project)


def has_failed(ran: Ran) -> bool:
    return "Traceback" in ran.stderr or (bool(ran.events) and bool(ran.of("fault")))


def test_each_kind_of_run_was_recorded():
    assert NAMES == ["command", "done", "gate", "handoff", "improve", "item", "items", "pass", "try"]


@pytest.mark.parametrize("name", sampled(NAMES, 4))
def test_it_opens_is_sound_and_is_exported_where_its_workspace_is_gone(tmp_path: Path, name: str):
    at = unpack(name, tmp_path)
    checked = run(at, "check", at.run_id)
    assert checked.exit_code == 0 and "sound" in checked.stdout, checked
    assert at.run_id in run(at, "runs").stdout
    for form in FORMATS:
        done = run(at, "export", at.run_id, "--format", form)
        assert done.exit_code == 0 and done.stdout and not done.stderr, done
    plain = run(at, "watch", at.run_id, "--plain")
    assert plain.exit_code in (0, 5) and "Traceback" not in plain.stderr and plain.stdout, plain


@pytest.mark.parametrize("name", NAMES)
def test_it_is_replayed_event_by_event_with_the_same_sums_in_every_view(tmp_path: Path, name: str):
    at = unpack(name, tmp_path)
    assert disagreements_of(at.journal, tmp_path / "copy.db") == []


@pytest.mark.parametrize("name", sampled(NAMES, 4))
def test_a_moved_one_is_sound(tmp_path: Path, name: str):
    at = moved(name, tmp_path)
    checked = run(at, "check", at.run_id)
    assert checked.exit_code == 0 and "sound" in checked.stdout, checked


def test_all_changes_of_an_ended_run_are_undone(tmp_path: Path):
    at = moved("done", tmp_path)
    assert (at.project / "calc/core.py").read_text() == FIXED
    assert changed_files(at.project) == ["NOTES.md", "calc/core.py", "made.txt"]
    (at.project / "by-user.txt").write_text("by the user\n")
    for name in ("made.txt", "NOTES.md"):  # the user may have changed them while the command ran, so by name
        named = run(at, "ctl", at.run_id, "undo", "file", name)
        assert named.exit_code == 0, named
    done = run(at, "ctl", at.run_id, "undo", "3")
    assert done.exit_code == 0, done
    assert changed_files(at.project) == ["by-user.txt"], done


def test_files_that_an_undo_left_because_nobody_named_them_are_undone_by_name_afterwards(tmp_path: Path):
    at = moved("done", tmp_path)
    first = run(at, "ctl", at.run_id, "undo", "3")
    assert first.exit_code == 0 and "not undone: made.txt" in first.stdout + first.stderr, first
    assert changed_files(at.project) == ["NOTES.md", "made.txt"], first
    named = run(at, "ctl", at.run_id, "undo", "file", "made.txt", "NOTES.md")
    assert named.exit_code == 0 and changed_files(at.project) == [], named
    again = run(at, "ctl", at.run_id, "undo", "file", "made.txt")
    assert again.exit_code != 0 and "no change of this run is left to undo" in again.stderr, again


def test_one_file_of_an_ended_run_is_undone_and_what_the_user_changed_since_stays(tmp_path: Path):
    at = moved("done", tmp_path)
    (at.project / "NOTES.md").write_text("by the user\n")
    newest = run(at, "ctl", at.run_id, "undo")
    assert newest.exit_code == 0 and "not undone" not in newest.stdout, newest
    assert (at.project / "calc/core.py").read_text() == FIXED_ADD
    done = run(at, "ctl", at.run_id, "undo", "file", "made.txt", "NOTES.md")
    assert not (at.project / "made.txt").exists(), done
    assert (at.project / "NOTES.md").read_text() == "by the user\n"
    assert (at.project / "calc/core.py").read_text() == FIXED_ADD


def test_an_undo_names_what_it_leaves_because_a_command_changed_it(tmp_path: Path):
    at = moved("done", tmp_path)
    done = run(at, "ctl", at.run_id, "undo", "3")
    assert done.exit_code == 0 and changed_files(at.project) == ["NOTES.md", "made.txt"], done
    assert [line.split(":")[1].strip() for line in done.stdout.splitlines() if line.startswith("not undone")] == [
        "NOTES.md",
        "made.txt",
    ], done


def test_the_result_of_an_ended_run_is_not_confirmed_and_forked_with_its_files(tmp_path: Path):
    at = moved("done", tmp_path)
    verified = run(at, "verify", at.run_id)
    assert verified.exit_code == 6 and "an older version of rundry made this run" in verified.stdout, verified
    git(at.project, "stash", "-qu")
    forked = run(at, "fork", at.run_id, "--files")
    assert forked.exit_code == 0 and "Traceback" not in forked.stderr, forked


def test_a_proposal_that_waited_is_approved_and_the_run_continues(tmp_path: Path):
    at = moved("handoff", tmp_path)
    assert at.run_id in run(at, "handoffs").stdout
    (waiting,) = json.loads(run(at, "handoffs", "--json").stdout)
    digest = waiting["proposals"][0]["digest"]
    approve = ("approve", at.run_id, "--headless", "--json", "--gate", "edits", "--digest")
    refused = run(at, *approve, digest)
    if refused.exit_code == 2:  # the digest of an edit has the place of the workspace, which is another one here
        digest = re.findall(r"Its digest is now (\w+)", refused.stderr)[0]
    ran = run(at, *approve, digest, turns=(FIX_MEAN,))
    assert (at.project / "calc/core.py").read_text() == FIXED, ran
    assert ran.exit_code == 5 and "an older version of rundry began this run" in ran.stdout, ran


@pytest.mark.parametrize("name", KILLED)
def test_a_resume_leaves_what_the_user_did_since_and_continues_or_refuses_in_one_line(tmp_path: Path, name: str):
    at = moved(name, tmp_path)
    before_kill = all_of(at.project)
    work_as_user(at.project)
    before = all_of(at.project)
    ran = run(at, "resume", at.run_id, "--headless", "--json", "--steps", "6")
    assert not has_failed(ran), ran
    now = all_of(at.project)
    if ran.exit_code == 2:
        assert len(ran.stderr.splitlines()) == 1 and now == before, ran
    users = {path for path, text in before.items() if before_kill.get(path) != text}
    lost = {path: (before[path], now.get(path)) for path in users if now.get(path) != before[path]}
    assert {path for path in lost if not path.startswith("git status")} == set(), (lost, ran)
    again = run(at, "check", at.run_id)
    assert again.exit_code == 0, again


@pytest.mark.parametrize("name", ["gate", "command"])
def test_a_goal_run_that_was_killed_is_continued_and_handed_over(tmp_path: Path, name: str):
    at = moved(name, tmp_path)
    fixes = (FIX_ADD, FIX_MEAN) if name == "gate" else (FIX_MEAN,)
    ran = run(at, "resume", at.run_id, "--headless", "--json", "--gate", "auto", turns=fixes)
    assert (ran.exit_code, ran.outcome["reason"]) == (5, "handoff"), ran.story()
    assert "did not note what it may change" in ran.outcome["detail"]
    assert (at.project / "calc/core.py").read_text() == FIXED


@pytest.mark.parametrize("name", ["command", "improve", "pass"])
def test_edits_of_a_run_that_was_killed_are_undone_without_a_resume(tmp_path: Path, name: str):
    at = moved(name, tmp_path)
    (at.project / "by-user.txt").write_text("by the user\n")
    edited = "calc/core.py" if name == "command" else "NOTES.md"
    before = (at.project / edited).read_text()
    done = run(at, "ctl", at.run_id, "undo")
    assert "Traceback" not in done.stderr, done
    assert done.exit_code != 0 or (at.project / edited).read_text() != before, done
    assert (at.project / "by-user.txt").read_text() == "by the user\n"


def test_a_screen_shows_an_old_run(home: Home, tmp_path: Path):
    at = moved("done", tmp_path / "old")
    with at.home.screen("watch", at.run_id, cwd=at.project) as terminal:
        terminal.wait_for("fix it")
        terminal.wait_for("done")
        terminal.press("ctrl+c")
        terminal.press("ctrl+c")
