"""A run that was killed."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.killing.killed_journals import Killed, make_killed
from fakes.project import make_project


@pytest.fixture
def killed(tmp_path: Path) -> Killed:
    """In its third call, after one edit."""
    return make_killed(tmp_path)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A git project whose suite is red."""
    folder = tmp_path / "project"
    folder.mkdir()
    return make_project(folder)
