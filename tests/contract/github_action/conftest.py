"""A step of GitHub Actions, and a server that plays GitHub."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from contract.github_action.action_step import GitHub, Step, make_step, played_github


@pytest.fixture
def step(tmp_path: Path, project: Path) -> Step:
    """A step with good inputs."""
    return make_step(tmp_path / "step", project)


@pytest.fixture
def github() -> Iterator[GitHub]:
    """GitHub's API for comments."""
    with played_github() as server:
        yield server
