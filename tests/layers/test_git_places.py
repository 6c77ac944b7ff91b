"""git folders outside of the workspace, several of them, and other users."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Bench
from .gitting import SETUP, run, same_as_direct, sh, take
from .test_git import CASES

LINKED = f"""
mkdir ../repo; cd ../repo
{SETUP}
git stash push -qum all; git worktree add -qb work ../workspace; cd ../workspace
echo staged > staged.txt; git add staged.txt
"""
SUBMODULE = f"""
mkdir ../lib; (cd ../lib
{SETUP}
git stash push -qum all)
git init -q -b main .; echo x > x; git add x; git -c protocol.file.allow=always submodule --quiet add ../lib lib
git commit -qm start
"""
SEPARATE = SETUP.replace("init -q -b main .", "init -q -b main --separate-git-dir=../elsewhere .")
NESTED = f"""
{SETUP}
git worktree add -q inner side; echo inner >> .gitignore
"""
SPARSE = f"""
{SETUP}
git stash push -qum all; git sparse-checkout set src; echo x >> src/c.txt
"""
SHA256 = SETUP.replace("init -q", "init -q --object-format=sha256")
WORK = "echo more >> a.txt; git add a.txt; git commit -qm more; git tag here; git stash push -qm one; git branch one"


@pytest.mark.parametrize(
    ("setup", "script"),
    [
        (LINKED, WORK),
        (
            LINKED,
            "git commit -qm one; git rebase -q old > /dev/null; git switch -qc topic; git gc -q; echo x > x; git add x",
        ),
        (LINKED, "git commit -qm one; git merge -q side || true; echo y > y; git add y"),
        (SEPARATE, WORK),
        (SUBMODULE, f"cd lib; {WORK}; cd ..; git add lib; git commit -qm lib"),
        (NESTED, f"(cd inner; {WORK.replace('one', 'two')}); git commit -qm outer"),
        (SPARSE, "git commit -qam in; git switch -q side; git commit -q --allow-empty -m two; git switch -q main"),
        (SPARSE, "git switch -q side"),
        (SHA256, WORK),
        (
            "git init -q -b main .; echo x > x; git add x",
            "git commit -qm first; git branch other; echo y > y; git add y",
        ),
        (SPARSE, "git merge -qm merged old; git reset -q --hard v1; git reset -q --hard side"),
    ],
    ids=range(11),
)
def test_git_folders_may_lie_anywhere(bench: Bench, setup: str, script: str):
    same_as_direct(bench, script, setup, *(top for top in ("lib", "inner") if f"cd {top}" in script))


@pytest.mark.parametrize(
    ("script", "new"),
    [
        ("git init -q lib; cd lib; echo x > x; git add x; git commit -qm x", "lib"),
        ("git worktree add -q inner side; cd inner; echo more >> t.txt; git commit -qam more", "inner"),
        (
            "git -c protocol.file.allow=always submodule --quiet add ../lib lib; git commit -qm lib",
            "lib",
        ),
    ],
    ids=range(3),
)
def test_a_new_git_folder_waits_as_files_and_is_whole_when_it_is_accepted(bench: Bench, script: str, new: str):
    setup = f"git init -q --bare -b main ../lib; {SETUP} git push -q ../lib main"
    report = same_as_direct(bench, script, setup, new=new)
    assert report.not_taken == []
    for part in report.repositories:
        assert part.not_taken == ()


def test_commands_follow_each_other_where_the_git_folder_is_on_another_file_system(bench: Bench):
    far = Path(tempfile.mkdtemp(dir="/dev/shm"))
    try:
        assert far.stat().st_dev != bench.ws.stat().st_dev
        sh(bench.ws, LINKED.replace("../repo", str(far / "repo")).replace("../workspace", str(bench.ws)))
        for n in range(3):
            layer = bench.layer()
            run(bench, layer, f"echo {n} >> a.txt; git commit -qam 'made {n}'; git tag t{n}")
            _, results = take(bench, layer)
            assert len(results) >= 3 and not [one for one in results if one.conflict], results
            layer.drop()
        assert sh(bench.ws, "git log --format=%s -3; git status --short") == "made 2\nmade 1\nmade 0\n"
    finally:
        shutil.rmtree(far)


@pytest.mark.parametrize("number", range(0, len(CASES), 5))
def test_git_commands_in_a_layer_of_an_ordinary_user(as_user: Callable[[Callable[[Path], None]], None], number: int):
    def act(folder: Path) -> None:
        bench = Bench(folder)
        same_as_direct(bench, CASES[number])
        bench.close()

    as_user(act)


def test_a_git_folder_elsewhere_of_an_ordinary_user(as_user: Callable[[Callable[[Path], None]], None]):
    def act(folder: Path) -> None:
        bench = Bench(folder)
        same_as_direct(bench, WORK, LINKED)
        bench.close()

    as_user(act)
