"""A project and a place for runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.project import make_project


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A git project whose suite is red: see `fakes.project`."""
    folder = tmp_path / "project"
    folder.mkdir()
    return make_project(folder)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Where journals go."""
    folder = tmp_path / "runs"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder
