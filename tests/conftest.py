"""What any test may ask for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("full", max_examples=100)
settings.register_profile("quarter", max_examples=25)
settings.load_profile("quarter")  # `--hypothesis-profile=full` replaces it

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # else every process that a test starts compiles everything anew


@pytest.fixture
def home(tmp_path: Path) -> Iterator[object]:
    """The `rundry` command in an empty home: see `fakes.rundry.Home`. Runners that a test left are ended."""
    from fakes.rundry import Home

    home = Home(tmp_path)
    yield home
    home.end_runners()
