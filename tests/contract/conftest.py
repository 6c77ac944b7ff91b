"""A project, a place for runs, and the command on machines with layers and without them."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.machines import MACHINES, words_for
from fakes.project import make_project
from fakes.rundry import Home

from rundry.agent.sandbox.landlock import why_no_landlock


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


@pytest.fixture(params=["layers", *(pytest.param(machine, marks=pytest.mark.long) for machine in MACHINES)])
def home_on_machines(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Home]:
    """The `rundry` command in an empty home, where layers work and on the machines where they do not."""
    yield from home_on(request.param, tmp_path)


@pytest.fixture(params=MACHINES)
def home_without_layers(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Home]:
    """The `rundry` command in an empty home, on the machines where layers do not work."""
    yield from home_on(request.param, tmp_path)


def home_on(machine: str, folder: Path) -> Iterator[Home]:
    """The command on a machine; the test is skipped where it cannot be simulated."""
    if machine != "layers" and sys.platform != "linux":
        pytest.skip("only Linux has filters of system calls")
    if machine in ("layers", "bubblewrap") and shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    if machine == "landlock" and (why := why_no_landlock()):
        pytest.skip(why)
    home = Home(folder, () if machine == "layers" else words_for(machine))
    yield home
    home.end_runners()
