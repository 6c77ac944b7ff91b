"""Fixtures of several files of this folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.in_process.driven import Driven
from search.migrate.fixer import CHECK, Fixer

from rundry.agent.protocol import (
    Budget,
    FinderSpec,
    LoopKind,
    Recipe,
)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "place"
    folder.mkdir()
    for name in ("a", "b", "c"):
        (folder / f"{name}.txt").write_text(f"{name}: old\n")
    (folder / "done.txt").write_text("new\n")
    return folder


@pytest.fixture
def migrate(tmp_path: Path, place: Path) -> Callable[..., Driven]:
    runs = tmp_path / "runs"
    runs.mkdir(mode=0o700)

    def make(
        model: Fixer | None = None, *globs: str, check: str = CHECK, budget: Budget | None = None, **more: Any
    ) -> Driven:
        spec = FinderSpec(recipe=Recipe.MIGRATE, check=check, globs=list(globs) or ["*.txt"], concurrency=1, sceptics=0)
        options = {"task": f"make every file pass `{check}`", "loop": LoopKind.UNTIL_DRY, **more}
        retries = options.pop("retries", 1)
        finder = FinderSpec(**{**{f: getattr(spec, f) for f in spec.__struct_fields__}, "retries": retries})
        return Driven(runs, place, model or Fixer(), finder=finder, budget=budget, **options)

    return make
