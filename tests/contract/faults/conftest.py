"""A place for runs whose commands work in layers, with each sandbox."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from contract.faults.in_layers import SUITE, git
from fakes.visible_folders import visible_folder
from step.layered import three_folders

from rundry.agent.sandbox import sandbox
from rundry.agent.sandbox.landlock import why_no_landlock


@pytest.fixture(params=["bubblewrap", "landlock"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The sandbox that this machine seems to have."""
    if request.param == "landlock":
        if why := why_no_landlock():
            pytest.skip(why)
        monkeypatch.setattr(sandbox, "find_bubblewrap", lambda avoid: None)
    elif sandbox.find_bubblewrap(None) is None:
        pytest.skip("bubblewrap is not installed")
    return request.param


@pytest.fixture
def place(pytestconfig: pytest.Config, kind: str) -> Iterator[Path]:
    """A workspace that is a repository, a folder outside of it, and one for journals."""
    with three_folders(visible_folder(pytestconfig.rootpath)) as folder:
        work = folder / "work"
        (work / "tests").mkdir()
        (work / "tests/test_x.py").write_text(SUITE.format("x"))
        git(work, "init", "-q", "-b", "main")
        git(work, "add", ".")
        git(work, "commit", "-q", "-m", "start")
        yield folder
