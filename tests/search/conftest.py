"""Searches on a scripted model, in this process: real runner, journal, frontier and files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.in_process.driven import Driven
from fakes.models.model_by_role import ModelByRole

from rundry.agent.protocol import FinderSpec, Lens, LoopKind


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder to search in."""
    folder = tmp_path / "place"
    folder.mkdir()
    for name in ("a", "b", "c"):
        (folder / f"{name}.txt").write_text(f"{name} one\n{name} two\n{name} three\n")
    return folder


@pytest.fixture
def search(tmp_path: Path, place: Path) -> Callable[..., Driven]:
    """A search by these lenses; further words go to the FinderSpec. `prompt`: of all lenses."""
    runs = tmp_path / "runs"
    runs.mkdir(mode=0o700)

    def make(
        model: ModelByRole, *lenses: str, budget: Any = None, quotas: Any = None, prompt: str = "", **more: Any
    ) -> Driven:
        spec = FinderSpec(
            lenses=[Lens(name=name, prompt=prompt or f"look like {name}") for name in lenses],
            **{"sceptics": 1, "critic": False, **more},
        )
        return Driven(
            runs, place, model, task="find it", loop=LoopKind.UNTIL_DRY, finder=spec, budget=budget, quotas=quotas
        )

    return make
