"""Fixtures of several files of this folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.in_process.driven import Driven
from fakes.project import git
from search.migrate.fixer import CHECK, Fixer

from rundry.agent.protocol import FinderSpec, LoopKind, Recipe

NAMES = ("a", "b", "c", "d", "e", "f")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A git repository with six files that fail, one that passes, and a list that all of them share."""
    folder = tmp_path / "place"
    folder.mkdir()
    for name in NAMES:
        (folder / f"{name}.txt").write_text(f"{name}: old\n")
    (folder / "done.txt").write_text("new\n")
    (folder / "list.md").write_text("".join(f"- {name}\n\n" for name in NAMES))
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "start")
    return folder


@pytest.fixture
def parallel(tmp_path: Path, place: Path) -> Callable[..., Driven]:
    """Make a migration with three worktrees."""
    runs = tmp_path / "state" / "runs"
    runs.mkdir(mode=0o700, parents=True)

    def make(model: Fixer | None = None, *globs: str, check: str = CHECK, retries: int = 1, **more: Any) -> Driven:
        finder = FinderSpec(
            recipe=Recipe.MIGRATE,
            check=check,
            globs=list(globs) or ["*.txt"],
            parallel=3,
            concurrency=6,
            sceptics=0,
            retries=retries,
        )
        options = {"task": f"make every file pass `{check}`", "loop": LoopKind.UNTIL_DRY, **more}
        return Driven(runs, place, model or Fixer(), finder=finder, **options)

    return make


def worktrees(place: Path) -> list[str]:
    """The worktrees that git knows besides the main one, and what is left of their folders."""
    listed = git(place, "worktree", "list", "--porcelain").count("worktree ") - 1
    folder = place.parent / "state" / "worktrees"
    left = [str(path) for path in folder.rglob("*")] if folder.exists() else []
    return [f"{listed} in git"] * (listed > 0) + left
