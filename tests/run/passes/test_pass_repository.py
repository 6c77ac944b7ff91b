"""What a pass does to the repository itself: a red pass leaves nothing of it, a green one leaves its branch."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from fakes.clock import ManualClock
from fakes.in_process.driven import Driven
from fakes.in_process.simulated_hours import make_repository, repository_of, subjects, through_hours, tree_of
from fakes.project import changed_files, git
from fakes.turns import call, finish, say
from run.passes.in_repository import DONE, Make, sh, verdicts
from sampling import sampled

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import Branch, Budget, ImproveSpec, LoopKind, Wake

SILENT = (say("so"), say("so"))
"""Ends a pass whose check is red."""


def write(path: str, content: str):
    return call("write_file", path=path, content=content)


BREAK = "echo broken > a.txt; git commit -qam 'I broke it'"


TRACES = {
    "a commit": BREAK,
    "two commits and a file": f"{BREAK}; echo more >> a.txt; git commit -qam two; echo new > new.txt",
    "a branch": f"git switch -qc other; {BREAK}",
    "a detached HEAD": f"git switch -q --detach; {BREAK}",
    "a renamed branch": f"git branch -m work renamed; {BREAK}",
    "a branch that blocks a name": f"git switch -qc x; git branch -D work; git branch work/sub; {BREAK}",
    "tags and branches": f"git tag t1; git tag -m a t2; git branch b1; git tag -d v1; git branch -D mine; {BREAK}",
    "an orphan branch": f"git checkout -q --orphan fresh; {BREAK}",
    "an amended commit": "echo broken > a.txt; git commit -qa --amend -m 'Rewritten'",
    "a new stash entry": "echo s > b.txt; git stash -q; echo broken > a.txt",
    "a dropped stash entry": "git stash drop -q 'stash@{1}'; echo broken > a.txt",
    "a cleared stash": "git stash clear; echo broken > a.txt",
    "a popped stash": "git stash pop -q; echo broken > a.txt",
    "staged files": "echo broken > a.txt; echo s > s.txt; git add -A",
    "intent to add": "echo broken > a.txt; echo s > s.txt; git add -N s.txt; git update-index --assume-unchanged b.txt",
    "a removed file": "echo broken > a.txt; git rm -q --cached b.txt",
    "a merge in progress": "git switch -qc o; echo 1 > b.txt; git commit -qam o; git switch -q work; echo 2 > b.txt; "
    "git commit -qam w; git merge -q o; echo broken > a.txt",
    "a rebase in progress": "git switch -qc o; echo 1 > b.txt; git commit -qam o; git switch -q work; echo 2 > b.txt; "
    "git commit -qam w; git rebase -q o; echo broken > a.txt",
    "a cherry-pick in progress": "git switch -qc o; echo 1 > b.txt; git commit -qam o; git switch -q work; "
    "echo 2 > b.txt; git commit -qam w; git cherry-pick o; echo broken > a.txt",
    "a repository inside": "mkdir in && cd in && git init -q && echo x > x && git add x && git commit -qm x && cd .. "
    "&& echo broken > a.txt",
}  # fmt: skip


@pytest.mark.parametrize("trace", sampled(list(TRACES), 8))
async def test_a_red_pass_leaves_nothing_in_the_repository(clocked: Make, work: Path, trace: str):
    before, files = repository_of(work), tree_of(work)
    run = clocked(sh(TRACES[trace]), DONE)
    seen: list[dict[str, str]] = []
    run.on("tool_finished", lambda event: (seen.append(repository_of(work)), Wake())[1])
    await through_hours(run, ManualClock())
    assert verdicts(run)[0] == "reverted" and seen[0] == before, run.story()
    assert (work / "a.txt").read_text() == "one\n"
    assert repository_of(work) == before
    assert tree_of(work) == files and changed_files(work) == []


async def test_the_commits_of_a_red_pass_are_kept_as_a_bundle_and_named(clocked: Make, work: Path, tmp_path: Path):
    run = clocked(sh(f"git switch -qc other; {BREAK}; git tag -m note t1"), DONE)
    await through_hours(run, ManualClock())
    kept = run.of("patch_kept")[0]
    assert len(kept["commits"]) == 1 and "I broke it" in kept["commits"][0]
    assert any(line.startswith("refs/heads/other: none -> ") for line in kept["history"])
    assert any("HEAD: work -> other" in line for line in kept["history"])
    journal = Journal.open(run.path)
    bundle = tmp_path / "kept.bundle"
    bundle.write_bytes(journal.blobs.load(kept["bundle"]))
    journal.close()
    git(work, "fetch", "-q", str(bundle), "refs/heads/other:refs/heads/again", "refs/tags/t1:refs/tags/t1")
    assert subjects(work, "again") == ["I broke it", "First"] and git(work, "cat-file", "-t", "t1") == "tag\n"


async def test_passes_after_a_red_one_start_and_are_committed_on_the_branch_of_the_run(clocked: Make, work: Path):
    run = clocked(sh(f"git switch -qc x; {BREAK}"), *SILENT, write("a.txt", "fine\n"), DONE)
    await through_hours(run, ManualClock())
    assert verdicts(run)[:2] == ["reverted", "kept"], run.story()
    assert git(work, "branch", "--show-current") == "work\n" and changed_files(work) == []
    assert subjects(work) == ["rundry pass 2: did it", "First"]


GREEN = "echo fine > a.txt; git commit -qam 'My own commit'"


@pytest.mark.parametrize(
    ("command", "commits"),
    [
        (GREEN, ["My own commit", "First"]),
        (f"{GREEN}; echo n > n.txt", ["rundry pass 1: do it", "My own commit", "First"]),
        (
            f"git switch -qc x; {GREEN}; echo n > n.txt; git add n.txt",
            ["rundry pass 1: do it", "My own commit", "First"],
        ),
        (f"git switch -q --detach; {GREEN}", ["My own commit", "First"]),
        (f"git branch -m work renamed; {GREEN}", ["My own commit", "First"]),
        ("echo fine > a.txt; git commit -qa --amend -m Rewritten", ["rundry pass 1: do it", "First"]),
        (f"git switch -qc main; {GREEN}", ["My own commit", "First"]),
        ("git rm -q --cached b.txt; echo fine > a.txt", ["rundry pass 1: do it", "First"]),
    ],
)
async def test_a_green_pass_is_on_the_branch_of_the_run_with_its_own_commits(
    clocked: Make, work: Path, command: str, commits: list[str]
):
    run = clocked(sh(command), DONE, until=["grep -q fine a.txt"])
    await through_hours(run, ManualClock())
    assert verdicts(run)[0] == "kept", run.story()
    assert git(work, "branch", "--show-current") == "work\n" and subjects(work) == commits
    assert changed_files(work) == [] and git(work, "show", "HEAD:a.txt") == "fine\n"
    assert git(work, "show", "HEAD:b.txt") == "two\n"
    assert run.of("pass_finished")[0]["commit"] == git(work, "rev-parse", "HEAD").strip()


async def test_a_green_pass_does_not_move_a_protected_branch(clocked: Make, work: Path):
    git(work, "branch", "main")
    run = clocked(sh(f"git switch -q main; {GREEN}"), DONE, until=["grep -q fine a.txt"])
    await through_hours(run, ManualClock())
    assert verdicts(run)[0] == "kept" and subjects(work) == ["My own commit", "First"], run.story()
    assert subjects(work, "main") == ["First"]
    assert "protected branch main was restored" in run.of("pass_finished")[0]["why"]


async def test_what_someone_else_moved_meanwhile_stays(clocked: Make, work: Path):
    run = clocked(sh(f"git tag t1; git tag t2; {BREAK}"), DONE)
    await through_hours(run, ManualClock())
    other = run.killed_at("patch_kept")
    git(work, "tag", "t1", "mine")
    (work / "b.txt").write_text("mine\n")
    git(work, "commit", "-qam", "The user's own")
    before = repository_of(work)
    await through_hours(other, ManualClock())
    assert other.of("pass_finished")[0]["verdict"] == "reverted" and repository_of(work) == before


@pytest.mark.parametrize("trace", ["a renamed branch", "a cleared stash", "a rebase in progress", "an orphan branch"])
async def test_a_runner_killed_in_the_middle_of_a_roll_back_finishes_it(clocked: Make, work: Path, trace: str):
    before = repository_of(work)
    run = clocked(sh(TRACES[trace]), DONE)
    await through_hours(run, ManualClock())
    other = run.killed_at("patch_kept")
    await through_hours(other, ManualClock())
    assert verdicts(other)[0] == "reverted" and other.of("pass_finished")[0]["left"] == [], other.story()
    assert repository_of(work) == before


@pytest.mark.long
async def test_a_lock_of_another_git_process_skips_the_pass_with_the_reason(clocked: Make, work: Path):
    (work / ".git" / "index.lock").touch()
    run = clocked(say("a"), say("b"), steps=2)
    outcome = await through_hours(run, ManualClock())
    assert outcome.reason == "handoff" and verdicts(run) == ["skipped"] * 3
    assert "index.lock" in outcome.detail and (work / ".git" / "index.lock").exists()


@pytest.mark.long
async def test_a_wait_for_gits_lock_names_the_process_that_holds_it(clocked: Make, work: Path):
    lock = work / ".git" / "index.lock"
    held = f"exec 3>{lock}; echo held; read -r _; rm {lock}"
    other = subprocess.Popen(["bash", "-c", held, "git"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert other.stdin is not None and other.stdout is not None
    try:
        assert other.stdout.readline() == b"held\n"
        run = clocked(say("a"), say("b"), steps=2)
        outcome = await through_hours(run, ManualClock())
    finally:
        other.communicate(b"\n")
    waits, ends = run.of("lock_awaited"), run.of("lock_obtained")
    assert waits and all(one["lock"] == str(lock) for one in waits), run.story()
    assert f"process {other.pid} (bash -c" in waits[0]["holder"]
    assert len(ends) == len(waits) and not ends[0]["obtained"]
    assert f"({waits[0]['holder']})" in outcome.detail


@pytest.fixture
def improving(driven: Make, work: Path) -> Make:
    """An improve run whose score is the number in a file, in a worktree of its own."""
    (work / "score.txt").write_text("5\n")

    def make(*turns: Any) -> Driven:
        spec = ImproveSpec(score="cat score.txt", bounded=True, patience=1, branch=Branch(worktree_of=str(work)))
        return driven(*turns, loop=LoopKind.IMPROVE, improve=spec, budget=Budget(steps=len(turns)))

    return make


def scored(number: int):
    return sh(f"echo {number} > score.txt; git commit -qam 'Score {number}'")


SCORED = finish("tried it", "score.txt")


async def test_the_commits_of_a_rejected_candidate_do_not_stay(improving: Make, work: Path):
    make_repository(work)
    run = improving(scored(7), SCORED, scored(3), SCORED)
    await through_hours(run, ManualClock())
    assert verdicts(run) == ["kept", "reverted"], run.story()
    assert subjects(work) == ["Score 7", "First"] and changed_files(work) == []
    assert "Score 3" in run.of("patch_kept")[0]["commits"][0]


@pytest.mark.parametrize("where", ["main", "detached", "rebasing"])
async def test_where_nothing_may_be_committed_history_stays_as_it_was(improving: Make, work: Path, where: str):
    make_repository(work, "main" if where == "main" else "work")
    if where == "detached":
        git(work, "switch", "-q", "--detach")
    elif where == "rebasing":
        (work / "b.txt").write_text("second\n")
        git(work, "commit", "-qam", "Second")
        subprocess.run(
            ["git", "-c", "user.name=T", "-c", "user.email=t@x", "rebase", "-q", "-i", "HEAD~1"],
            cwd=work,
            env={"GIT_SEQUENCE_EDITOR": "sed -i s/pick/edit/", "PATH": "/usr/bin:/bin"},
            capture_output=True,
        )
        assert (work / ".git" / "rebase-merge").exists()
    before = repository_of(work)
    run = improving(scored(7), SCORED, scored(3), SCORED)
    await through_hours(run, ManualClock())
    assert verdicts(run) == ["kept", "reverted"], run.story()
    after = repository_of(work)
    assert (work / "score.txt").read_text() == "7\n"
    assert {**after, "status": ""} == {**before, "status": ""}
    assert "score.txt" in after["status"]
