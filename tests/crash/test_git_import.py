"""A kill while the result of a command's git is imported into the user's repository."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from fakes.killing.crashing_writes import run
from fakes.project import git

from rundry.agent.workspace.leftovers.record import Leftovers
from rundry.agent.workspace.sandbox.sandbox import Sandbox

KILLED = -9


@pytest.fixture
async def whole(tmp_path: Path) -> Path:
    """A folder with a repository in which a merge of `side` conflicts."""
    if (await Sandbox.detect(kinds=["bubblewrap"])).kind is None:
        pytest.skip("needs bubblewrap")
    place = tmp_path / "whole/place"
    place.mkdir(parents=True)
    (tmp_path / "whole/runs").mkdir()
    git(place, "init", "-q", "-b", "main", ".")
    for branch, text in (("main", "a\n"), ("side", "b\n"), ("main", "c\n")):
        if branch == "side":
            git(place, "switch", "-qc", "side")
        elif text == "c\n":
            git(place, "switch", "-q", "main")
        (place / "file.txt").write_text(text)
        git(place, "add", ".")
        git(place, "commit", "-qm", text.strip())
    return tmp_path / "whole"


def locks(root: Path) -> list[str]:
    return [str(path.relative_to(root)) for path in (root / "place/.git").rglob("*.lock")]


@pytest.mark.long
async def test_a_kill_during_an_import_leaves_no_lock_in_the_repository_once_the_run_is_resumed(whole: Path):
    fresh = whole.with_name("fresh")
    shutil.copytree(whole, fresh)
    assert run("import", whole) == 0
    assert "both modified" in git(whole / "place", "status") and locks(whole) == []
    points = (whole / "points").read_text().splitlines()
    steps = [at for at, name in enumerate(points, 1) if name.startswith("import:")]
    assert {points[at - 1] for at in steps} >= {"import: written next to it", "import: lock held"}
    left = 0
    for at in steps:
        root = whole.with_name(str(at))
        shutil.copytree(fresh, root)
        assert run("import", root, at) == KILLED
        left += len(locks(root))
        assert Leftovers(root / "runs/a.db").sweep() == []
        assert locks(root) == [], points[at - 1]
        git(root / "place", "add", "file.txt")
    assert left


async def test_a_lock_that_another_git_process_made_after_the_kill_stays(whole: Path):
    fresh = whole.with_name("fresh")
    shutil.copytree(whole, fresh)
    assert run("import", whole) == 0
    at = (whole / "points").read_text().splitlines().index("import: lock held") + 1
    assert run("import", fresh, at) == KILLED
    lock = fresh / "place/.git/index.lock"
    os.truncate(lock, 10)
    assert Leftovers(fresh / "runs/a.db").sweep() == []
    assert lock.stat().st_size == 10
