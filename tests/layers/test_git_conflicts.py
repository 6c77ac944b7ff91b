"""The user works in the repository while a command works in a layer: nothing of the user's is lost or half done."""

from __future__ import annotations

import os
import subprocess
import sys

import msgspec
import pytest

from rundry.agent.host.leftovers import Leftovers
from rundry.agent.layers.git.apply_git_rows import GitResult, carry_out_git
from rundry.agent.layers.git.git_rows import StateRow
from rundry.agent.layers.git.read_git_changes import GitReport, read_git

from .conftest import Bench
from .gitting import SETUP, run, sh, state

COMMIT = "git commit -qm theirs; git tag theirs; echo x > x; git add x"
BOTH = [
    ("git commit -qm more", "git status > /dev/null; git add new.txt; git tag mine; git branch mine", "A  new.txt"),
    ("echo x > x; git add x", "echo y > y; git add y; git commit -qm mine", "AD x"),
    ("git stash push -qm theirs", "git tag mine; git fetch -q . side:theirs", "?? new.txt"),
    ("git commit -qm more; git branch more", "echo x > x; git add x", "A  x"),
    ("git branch -D gone", "git branch -f gone v1", "A  staged.txt"),
]
"""What a command does, what the user does meanwhile, and a line of `git status` afterwards."""
CONFLICTS = [
    (COMMIT, "git commit -qm mine", "refs/heads/main"),
    (COMMIT, "git commit --amend -qm mine", "refs/heads/main"),
    (COMMIT, "git checkout -q -b mine", "HEAD"),
    ("echo x > b.txt; git add b.txt; git tag theirs", "echo y > b.txt; git add b.txt", "b.txt"),
    (COMMIT, "git reset -q --hard; git rebase -q side || true", "rebase"),
    (COMMIT, "git reset -q --hard; git merge -q side || true", "merge"),
    ("git stash push -qm theirs; git tag theirs", "git stash push -qm mine", "stash"),
    ("git branch -D gone; git commit -qm x", "git branch -f gone v1", "refs/heads/gone"),
    ("git branch topic; git commit -qm x", "git branch topic v1", "refs/heads/topic"),
    ("git reset -q --hard; git merge side || true", "git reset -q --hard; git cherry-pick side || true", "progress"),
    ("mkdir y; echo x > y/x; git add y; git tag theirs", "echo x > y; git add y", "y/x"),
    ("git switch -qC side; git tag theirs", "git switch -qc other", "HEAD"),
]
DECIDED, MEANWHILE = (3, 7, 10), (6,)
"""Cases that are conflicts only if the user acts after the command, or only during it."""


def started(bench: Bench, script: str, mine: str, setup: str = SETUP) -> GitReport:
    """Run a script in a layer, and one of the user after it began."""
    sh(bench.ws, setup)
    layer = bench.layer()
    run(bench, layer, script)
    sh(bench.ws, mine)
    return read_git(layer, lambda: layer.words)


def applied(bench: Bench, report: GitReport) -> list[GitResult]:
    return [one for part in report.repositories for one in carry_out_git(part, part.rows, bench.ws, Leftovers(None))]


@pytest.mark.parametrize(
    ("script", "mine", "why", "late"),
    [
        pytest.param(*case, late, id=f"{n}-{'decision' if late else 'during'}")
        for n, case in enumerate(CONFLICTS)
        for late in ((True,) if n in DECIDED else (False,) if n in MEANWHILE else (False, True))
    ],
)
def test_what_the_user_did_meanwhile_is_a_conflict_and_nothing_changes(
    bench: Bench, script: str, mine: str, why: str, late: bool
):
    report = started(bench, script, "true" if late else mine)
    if late:
        sh(bench.ws, mine)
    before = state(bench.ws)
    results = applied(bench, report)
    assert results and all(one.conflict for one in results)
    reasons = [f"{one.conflict} {one.row!r}" for one in results if "held back" not in one.conflict]
    expected = (why,) if late else ("while the command ran", "in progress")
    assert [one for one in reasons if any(words in one for words in expected)], reasons
    after = state(bench.ws)
    assert {**after, "refs": "", "log": ""} == {**before, "refs": "", "log": ""}
    new = set(str(after["refs"]).splitlines()) - set(str(before["refs"]).splitlines())
    assert all(line.startswith("refs/rundry/conflict/") for line in new)
    assert new or "commit" not in script, "the command's commits are kept"
    assert not list((bench.ws / ".git").rglob("*.lock"))


@pytest.mark.parametrize(("script", "mine", "line"), BOTH, ids=range(len(BOTH)))
def test_what_does_not_meet_is_carried_out(bench: Bench, script: str, mine: str, line: str):
    report = started(bench, script, mine)
    results = applied(bench, report)
    assert not [one for one in results if one.conflict], results
    assert line in sh(bench.ws, "git status --porcelain")


@pytest.mark.parametrize(
    "begun", ["git rebase -q side", "git merge -q side", "git cherry-pick side~1 side", "git am -q out/*"]
)
@pytest.mark.parametrize(
    "script",
    ["git status", "git add a.txt", "git add .; git commit -qm x", "git reset -q --hard v1", "rm -rf .git/rebase*"],
)
def test_an_operation_of_the_user_is_never_changed(bench: Bench, begun: str, script: str):
    setup = f"{SETUP} git reset -q --hard; git format-patch -q -1 side~1 -o out; {begun} > /dev/null 2>&1 || true"
    report = started(bench, f"{script}; echo z > z; git add z || true", "true", setup)
    before = state(bench.ws)
    results = applied(bench, report)
    after = state(bench.ws)
    assert after["operation"] == before["operation"] and after["operation"]
    assert after["head"] == before["head"] and after["reflog"] == before["reflog"]
    if script in ("git status", "git add a.txt"):
        assert not [one for one in results if one.conflict], results
        assert "z\n" in sh(bench.ws, "git diff --cached --name-only")
    elif "rm" not in script:
        assert results and all(one.conflict for one in results)
        assert after["index"] == before["index"]


@pytest.mark.parametrize("begin", ["git merge -q side", "git rebase -q side", "git cherry-pick side~1 side"])
def test_an_operation_that_the_run_began_is_continued_by_its_next_command(bench: Bench, begin: str):
    begin = f"git reset -q --hard; {begin} > /dev/null 2>&1 || true"
    report = started(bench, begin, "true")
    assert not [one for one in applied(bench, report) if one.conflict]
    ours = [row for row in report.repositories[0].rows if isinstance(row, StateRow)]
    assert ours[0].what and ours[0].what in " ".join(("a merge", "a rebase", "a cherry-pick"))
    continued = (
        "echo solved > a.txt; git add .; git commit -qm x 2> /dev/null; git cherry-pick --continue 2> /dev/null || "
    )
    continued += "git rebase --continue > /dev/null 2>&1 || true"
    layer = bench.layer()
    run(bench, layer, f"git reset -q; git checkout -q .; {continued}" if "rebase" in begin else continued)
    users, now = read_git(layer, lambda: layer.words), read_git(layer, lambda: layer.words, ours)
    before = state(bench.ws)
    assert all(one.conflict for one in applied(bench, users)), "without its row it is the user's"
    assert state(bench.ws)["head"] == before["head"]
    assert not [one for one in applied(bench, now) if one.conflict]
    assert state(bench.ws)["operation"] != before["operation"] and state(bench.ws)["fsck"] == ""


def test_commands_that_a_rebase_would_run_are_named(bench: Bench):
    begin = "git reset -q --hard; git rebase -q --exec 'touch /tmp/a; false' --exec 'make evil' v1 2> /dev/null || true"
    report = started(bench, begin, "true")
    row = next(row for row in report.repositories[0].rows if isinstance(row, StateRow))
    assert row.what == "a rebase" and "make evil" in row.runs


def test_a_lock_of_another_git_process_is_awaited_and_never_removed(bench: Bench):
    report = started(bench, COMMIT, ": > .git/index.lock")
    before = state(bench.ws)
    results = applied(bench, report)
    assert all("another git process holds" in one.conflict for one in results), results
    (bench.ws / ".git/index.lock").unlink()
    assert {**state(bench.ws), "refs": "", "log": ""} == {**before, "refs": "", "log": ""}
    argv = ["sh", "-c", ": > .git/index.lock; echo locked; sleep 0.5; rm .git/index.lock"]
    with subprocess.Popen(argv, cwd=bench.ws, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == b"locked\n"
        assert not [one for one in applied(bench, report) if one.conflict]


CHILD = """
import sys
from pathlib import Path
import msgspec
from rundry.agent.layers.git.apply_git_rows import carry_out_git
from rundry.agent.layers.git.git_rows import GitChanges
from rundry.agent.host.leftovers import Leftovers
changes = msgspec.msgpack.decode(Path(sys.argv[1]).read_bytes(), type=GitChanges)
leftovers = Leftovers(Path(sys.argv[2]))
leftovers.sweep()
print([one.conflict for one in carry_out_git(changes, changes.rows, Path(sys.argv[3]), leftovers) if one.conflict])
"""


def test_rows_that_a_kill_cut_off_are_carried_out_by_the_next_process(bench: Bench):
    script = "git stash push -qm one; git branch -D gone; git branch gone/too; git rebase -q side || true; git add ."
    sh(bench.ws, SETUP)
    layer = bench.layer()
    run(bench, layer, script)
    report = read_git(layer, lambda: layer.words)
    stored, journal = bench.folder / "rows", bench.folder / "journal"
    stored.write_bytes(msgspec.msgpack.encode(report.repositories[0]))
    start = bench.folder / "start"
    subprocess.run(["cp", "-a", str(bench.ws / ".git"), str(start)], check=True)
    assert not [one for one in applied(bench, report) if one.conflict]
    expected = state(bench.ws)
    argv = [sys.executable, "-c", CHILD, str(stored), str(journal), str(bench.ws)]
    at = 0
    while True:
        at += 1
        subprocess.run(["rm", "-rf", str(bench.ws / ".git")], check=True)
        subprocess.run(["cp", "-a", str(start), str(bench.ws / ".git")], check=True)
        killed = subprocess.run(argv, env={**os.environ, "RUNDRY_CRASH_AT": str(at)}, capture_output=True, check=False)
        if killed.returncode == 0:
            break
        assert killed.returncode == -9, killed.stderr
        done = subprocess.run(argv, capture_output=True, text=True, check=True)
        assert done.stdout == "[]\n", (at, done.stdout)
        after = state(bench.ws)
        assert {**after, "reflog": "", "reflogs": ""} == {**expected, "reflog": "", "reflogs": ""}, at
        assert not list((bench.ws / ".git").rglob("*.lock")), at
    assert at > 10


def test_git_is_started_again_where_the_sandbox_lacks_what_has_just_gone(bench: Bench):
    sh(bench.ws, SETUP)
    layer = bench.layer()
    run(bench, layer, "echo more >> a.txt; git commit -qam more")
    gone = [*layer.words, "bwrap", "--dev-bind", "/", "/", "--bind", "/gone", "/mnt"]
    starts = iter([gone, gone])
    report = read_git(layer, lambda: next(starts, layer.words))
    assert not report.repositories[0].not_taken, report
    assert [one.conflict for one in applied(bench, report)].count("") == len(report.repositories[0].rows)


def test_git_that_never_starts_is_named(bench: Bench):
    sh(bench.ws, SETUP)
    layer = bench.layer()
    run(bench, layer, "echo more >> a.txt; git commit -qam more")
    report = read_git(layer, lambda: [*layer.words, "bwrap", "--dev-bind", "/", "/", "--bind", "/gone", "/mnt"])
    assert any("bwrap" in line for part in report.repositories for line in part.not_taken), report
