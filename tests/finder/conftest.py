"""A journal for the frontier, and processes of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rundry.agent.journal import Journal
from rundry.agent.protocol import LoopKind, ModelSpec, RunSpec


def make_journal(path: Path) -> Journal:
    spec = RunSpec(
        run_id="20261121-014233-k3f9x",
        loop=LoopKind.UNTIL_DRY,
        task="look",
        workspace="/work",
        model=ModelSpec(name="openai/fake"),
    )
    return Journal.create(path, spec)


@pytest.fixture
def new_journal() -> Callable[[Path], Journal]:
    return make_journal


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    made = make_journal(tmp_path / "runs" / "run.db")
    yield made
    made.close()
