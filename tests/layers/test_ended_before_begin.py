"""A run that is refused while it is assembled leaves no process of its layers."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from fakes.in_process.driven import Driven
from fakes.layered_folder import layered_folder
from fakes.models.model import ScriptedModel
from fakes.turns import say

from rundry.agent.layers.occupied import workspace_key
from rundry.agent.protocol import GateMode


@pytest.fixture
async def place(pytestconfig):
    async with layered_folder(pytestconfig.rootpath) as folder:
        for name in ("work", "runs"):
            (folder / name).mkdir(mode=0o700)
        subprocess.run(["git", "init", "-q", folder / "work"], check=True)
        yield folder


def forkers() -> list[int]:
    """The processes of this one that make namespaces."""
    found = list[int]()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
            words = stat.with_name("cmdline").read_text().split("\0")
        except OSError:
            continue
        if int(parent) == os.getpid() and state != "Z" and words[1:5] == ["-I", "-S", "-B", "-c"]:
            found.append(int(stat.parent.name))
    return found


async def test_a_damaged_ledger_refuses_the_run_and_no_process_stays(place):
    run = Driven(place / "runs", place / "work", ScriptedModel([say("done")]), until=["true"])
    index = place / "runs/undecided" / workspace_key(place / "work") / "index"
    index.parent.mkdir(parents=True)
    index.write_bytes(b"\xff")
    before = forkers()
    outcome = await run.run()
    assert outcome.reason == "refused" and "is damaged" in outcome.detail, run.story()
    assert forkers() == before


async def test_a_stage_that_cannot_be_mounted_refuses_the_run_and_no_process_stays(place):
    run = Driven(
        place / "runs", place / "work", ScriptedModel([say("done")]), until=["true"], gate=GateMode.STAGE, commit=True
    )
    before = forkers()
    outcome = await run.run()
    assert outcome.reason == "refused" and "--gate stage does not work here" in outcome.detail, run.story()
    assert forkers() == before
