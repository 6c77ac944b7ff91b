"""What any test may ask for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from sampling import outside_of_sample

settings.register_profile("full", max_examples=100)
settings.register_profile("quarter", max_examples=25)
settings.load_profile("quarter")  # `--hypothesis-profile=full` replaces it

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # else every process that a test starts compiles everything again


@pytest.fixture
def home(tmp_path: Path) -> Iterator[object]:
    """The `rundry` command in an empty home: see `fakes.rundry.Home`. Runners that a test left are ended."""
    from fakes.rundry import Home

    home = Home(tmp_path)
    yield home
    home.end_runners()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In a run of the whole suite, mark most of the tests that start the program as long (sampling.py)."""
    asked = {(config.invocation_params.dir / arg).resolve() for arg in config.args}
    if asked == {Path(__file__).parent}:
        for item in outside_of_sample([item for item in items if "home" in getattr(item, "fixturenames", ())]):
            item.add_marker(pytest.mark.long)
