"""A sample of seeds (`python -m actor --seeds 0:300` runs more), and that the judge finds what nobody accepted."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.project import git
from fakes.sandboxes import needs_bubblewrap

from rundry.agent.sandbox.landlock import why_no_landlock

from .accepted import Accepted
from .commands import Deed
from .judge import Judge, Window
from .looking import Looker
from .trial import Plan, attempt
from .user import make_workspace

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the user works while processes are stopped by /proc")
_SEEDS, _SHORT = 30, (1, 3, 5)
"""How many seeds there are, and those that are always run: an interval run, a migration and a chat."""


def _seeds(count: int, *short: int) -> list[object]:
    return [seed if seed in short else pytest.param(seed, marks=pytest.mark.long) for seed in range(count)]


@needs_bubblewrap
@pytest.mark.parametrize("seed", _seeds(_SEEDS, *_SHORT))
def test_nothing_of_the_user_changes_that_was_not_accepted(seed: int):
    assert attempt(Plan.of(seed)).found == []


@pytest.mark.skipif(bool(why_no_landlock()), reason=why_no_landlock())
@pytest.mark.parametrize("seed", _seeds(_SEEDS // 2, 0))
def test_without_layers_rundry_itself_changes_nothing_of_the_user(seed: int):
    assert attempt(Plan.of(seed, direct=True)).found == []


DAMAGE: dict[str, tuple[str, Callable[[Path], object]]] = {
    "a file": ("file mine/a.txt", lambda project: (project / "mine/a.txt").write_text("damaged\n")),
    "a deletion": ("file mine/untracked.txt", lambda project: (project / "mine/untracked.txt").unlink()),
    "a mode": ("file mine/a.txt", lambda project: (project / "mine/a.txt").chmod(0o755)),
    "an entry of the index": ("index mine/c.txt", lambda project: git(project, "reset", "-q", "--", "mine/c.txt")),
    "a branch": ("ref refs/heads/work", lambda project: git(project, "update-ref", "refs/heads/work", "HEAD~1")),
    "HEAD": ("head", lambda project: git(project, "switch", "-q", "-c", "other")),
    "the stash": ("stash", lambda project: git(project, "stash", "drop", "-q")),
    "a rebase": ("state rebase-merge/", lambda project: shutil.rmtree(project / ".git/rebase-merge")),
    "settings": ("setting config", lambda project: git(project, "config", "user.name", "x")),
    "a reflog": ("log HEAD", lambda project: (project / ".git/logs/HEAD").write_text("")),
    "a flag": ("flag mine/a.txt", lambda project: git(project, "update-index", "--skip-worktree", "mine/a.txt")),
}


@pytest.mark.parametrize("in_place", [False, True], ids=["layers", "direct"])
@pytest.mark.parametrize("what", DAMAGE)
def test_the_judge_finds_what_changed_while_the_user_did_nothing(tmp_path: Path, what: str, in_place: bool):
    project = tmp_path / "project"
    make_workspace(project)
    if what == "a rebase":
        (project / ".git/rebase-merge").mkdir()
        (project / ".git/rebase-merge/todo").write_text("exec false\n")
    cell, damage = DAMAGE[what]
    looker = Looker(project)
    start = looker.look()
    damage(project)
    end = looker.look()
    judge = Judge(looker, Accepted(), [Deed("model 1-1.", ("both/a.txt",))], in_units=False, in_place=in_place)
    found = judge.wrong([Window(start, start, "nothing"), Window(end, end, "the end")])
    assert any(cell in line for line in found), found
