"""Projects whose goal runs are judged, on real mounts."""

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
    """A folder with a workspace, `work`, and a place for runs."""
    async with layered_folder(pytestconfig.rootpath) as folder:
        for name in ("work", "runs"):
            (folder / name).mkdir(mode=0o700)
        yield folder


@pytest.fixture
def project(place):
    """Makes a repository of these files."""

    def make(**files):
        work = place / "work"
        for name, text in files.items():
            path = work / name.replace("__", "/").replace("_dot_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "start"]):
            subprocess.run(["git", "-C", work, *IDENTITY, *words], check=True, capture_output=True)
        return work

    return make


@pytest.fixture
def driven(place):
    """Makes a run whose model calls these commands, or makes these turns, and then says that it is done."""

    def make(*turns, **options):
        turns = [call("run_command", command=turn) if isinstance(turn, str) else turn for turn in turns]
        model = ScriptedModel([*turns, *[say("done")] * 3])
        return Driven(place / "runs", place / "work", model, **options)

    return make
