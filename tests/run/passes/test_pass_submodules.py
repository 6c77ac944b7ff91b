"""A pass in a repository with submodules."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.clock import ManualClock
from fakes.in_process.simulated_hours import make_repository, repository_of, through_hours, tree_of
from fakes.project import changed_files, git
from run.passes.in_repository import DONE, Make, sh, verdicts


def add_submodule(work: Path, tmp_path: Path) -> Path:
    origin = tmp_path / "origin"
    origin.mkdir()
    (origin / "lib.txt").write_text("1\n")
    make_repository(origin, "trunk")
    (origin / "lib.txt").write_text("2\n")
    git(origin, "commit", "-qam", "Second")
    git(work, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(origin), "lib")
    git(work / "lib", "switch", "-q", "--detach", "HEAD~1")
    git(work, "commit", "-qam", "With lib")
    return work / "lib"


SUB_TRACES = {
    "its HEAD": "git -C lib switch -q trunk; echo broken > a.txt",
    "a commit in it": "cd lib; echo x > lib.txt; git commit -qam 'In lib'; cd ..; git add lib; echo broken > a.txt",
    "a branch in it": "git -C lib switch -qc x; echo y > lib/new.txt; git -C lib add new.txt; echo broken > a.txt",
    "its removal": "git rm -qf lib; echo broken > a.txt",
}


@pytest.mark.parametrize("trace", SUB_TRACES)
async def test_a_red_pass_leaves_nothing_in_a_submodule(clocked: Make, work: Path, tmp_path: Path, trace: str):
    add_submodule(work, tmp_path)
    before, inside = repository_of(work), repository_of(work / "lib")
    run = clocked(sh(SUB_TRACES[trace]), DONE)
    await through_hours(run, ManualClock())
    assert verdicts(run)[0] == "reverted", run.story()
    assert repository_of(work) == before and repository_of(work / "lib") == inside
    assert tree_of(work / "lib") == {"lib.txt": b"1\n"}


async def test_a_green_pass_commits_where_a_submodule_stands(clocked: Make, work: Path, tmp_path: Path):
    lib = add_submodule(work, tmp_path)
    run = clocked(sh("git -C lib switch -q trunk; echo fine > a.txt"), DONE, until=["grep -q fine a.txt"])
    await through_hours(run, ManualClock())
    assert verdicts(run)[0] == "kept", run.story()
    assert git(work, "rev-parse", "HEAD:lib") == git(lib, "rev-parse", "HEAD") and changed_files(work) == []


async def test_changes_in_a_submodule_that_are_not_committed_there_are_rolled_back(
    clocked: Make, work: Path, tmp_path: Path
):
    add_submodule(work, tmp_path)
    run = clocked(sh("echo x > lib/lib.txt; echo fine > a.txt"), DONE, until=["grep -q fine a.txt"])
    await through_hours(run, ManualClock())
    assert (
        verdicts(run)[0] == "reverted"
        and "lib/lib.txt changed in the submodule lib" in run.of("pass_finished")[0]["why"]
    )
    assert (work / "lib" / "lib.txt").read_text() == "1\n"
