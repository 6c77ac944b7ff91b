"""Fixtures of several files of this folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fakes.in_process.driven import Driven
from fakes.in_process.simulated_hours import make_repository
from fakes.project import git
from run.passes.in_repository import RED, Make

from rundry.agent.protocol import Branch, Budget, IntervalSpec, LoopKind


@pytest.fixture
def clocked(driven: Make, work: Path) -> Make:
    """An interval run in a worktree of its own, with a branch, a tag and a stash of the user's."""
    make_repository(work)
    git(work, "branch", "mine")
    git(work, "tag", "-m", "first", "v1")
    for text in ("older\n", "newer\n"):
        (work / "b.txt").write_text(text)
        git(work, "stash", "push", "-q", "-m", f"the user's {text.strip()}")

    def make(*turns: Any, until: list[str] = RED, steps: int | None = None, protected: str = "main") -> Driven:
        spec = IntervalSpec(every=3600.0, branch=Branch(protected=[protected], worktree_of=str(work)))
        budget = Budget(steps=steps or len(turns), seconds=None)
        return driven(*turns, loop=LoopKind.INTERVAL, interval=spec, budget=budget, until=until)

    return make
