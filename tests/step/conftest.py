"""Runs whose commands write into layers."""

from __future__ import annotations

import subprocess

import pytest
from fakes.in_process.driven import Driven
from fakes.in_process.layered_run import IDENTITY
from fakes.layered_folder import layered_folder
from fakes.models.model import ScriptedModel
from fakes.turns import call, say


@pytest.fixture
async def place(pytestconfig):
    """A folder with a workspace, `work`, a place for runs, and one outside."""
    async with layered_folder(pytestconfig.rootpath) as folder:
        for name in ("work", "outside", "runs"):
            (folder / name).mkdir(mode=0o700)
        (folder / "work/kept.txt").write_text("one\n")
        (folder / "work/gone.txt").write_text("two\n")
        yield folder


@pytest.fixture
def driven(place):
    """Makes a run whose model calls these commands, or makes these turns."""

    def make(*turns, **options):
        turns = [call("run_command", command=turn) if isinstance(turn, str) else turn for turn in turns]
        return Driven(place / "runs", place / "work", ScriptedModel([*turns, say("done")]), **options)

    return make


@pytest.fixture
def repository(place):
    work = place / "work"
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "start"]):
        subprocess.run(["git", "-C", work, *IDENTITY, *words], check=True, capture_output=True)
    return work
