"""What any test may ask for."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from sampling import PROGRAM_SHARE, RUN_SHARE, SEED, named_as_proof, outside_of_sample, share_of

settings.register_profile("full", max_examples=100, deadline=None)  # a loaded machine is slow
settings.register_profile("quarter", max_examples=25, deadline=None)
settings.load_profile("quarter")  # `--hypothesis-profile=full` replaces it

# Without bytecode, every process that a test starts compiles everything again, and each worker of pytest the tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


@pytest.fixture
def home(tmp_path: Path) -> Iterator[object]:
    """The `rundry` command in an empty home: see `fakes.rundry.Home`. Runners that a test left are ended."""
    from fakes.rundry import Home

    home = Home(tmp_path)
    yield home
    home.end_runners()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which samples ran."""
    terminalreporter.write_line(f"samples of seed {SEED} (another: RUNDRY_SAMPLE_SEED=N)")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long-share", type=int, default=1, help="run one in this number of each file's long tests")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In a run of the whole suite, mark many of the tests that start the program or play a run as long (sampling.py).

    With `--long-share N`, keep a seeded sample of the long tests.
    """
    kept = named_as_proof(config.rootpath)
    asked = {(config.invocation_params.dir / arg).resolve() for arg in config.args}
    if asked == {Path(__file__).parent}:
        short = [item for item in items if item.get_closest_marker("long") is None]
        for share in (PROGRAM_SHARE, RUN_SHARE):
            for item in outside_of_sample([item for item in short if share_of(item) == share], share, kept):
                item.add_marker(pytest.mark.long)
    long = [item for item in items if item.get_closest_marker("long") is not None]
    left = set(outside_of_sample(long, config.getoption("--long-share"), kept))
    items[:] = [item for item in items if item not in left]
    config.hook.pytest_deselected(items=left)
