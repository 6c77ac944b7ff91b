"""The sandbox of a run is tried while the person types, and that trial is used only for this run and only while new."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from fakes.played_events import spec

from rundry.agent import GatePolicy, ModelSpec
from rundry.agent.protocol import SandboxRules
from rundry.agent.run.client.start_request import Expected
from rundry.agent.run.start.sandbox_of_run import EarlyTrial, detect_sandbox, try_early
from rundry.agent.sandbox.sandbox import Sandbox

SEEN = "this sandbox comes from the early trial"


async def marked(ws: Path, runs: Path) -> EarlyTrial:
    """A trial that has ended, with a mark."""
    trial = await try_early(spec("", workspace=str(ws)), runs)
    (await trial.trying).trial_notes = [SEEN]
    return trial


async def found(ws: Path, runs: Path, trial: EarlyTrial, gate: GatePolicy) -> Sandbox:
    return await detect_sandbox(gate, ws, runs, rules=list, early=trial)


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    place = tmp_path / "ws"
    place.mkdir()
    return place


async def test_the_run_uses_the_trial_that_was_made_for_it(ws, tmp_path):
    trial = await marked(ws, tmp_path / "runs")
    sandbox = await found(ws, tmp_path / "runs", trial, trial.about[0])
    assert sandbox.notes == ([SEEN] if sandbox.kind is not None else [])
    assert sandbox is not await trial.trying


async def test_a_trial_for_another_policy_workspace_or_folder_of_journals_is_not_used(ws, tmp_path):
    trial = await marked(ws, tmp_path / "runs")
    gate = trial.about[0]
    hosts = msgspec.structs.replace(gate, sandbox=SandboxRules(hosts=["example.org"]))
    for place, runs, policy in ((ws, tmp_path / "other", gate), (tmp_path, tmp_path / "runs", gate)):
        assert SEEN not in (await found(place, runs, trial, policy)).notes
    assert SEEN not in (await found(ws, tmp_path / "runs", trial, hosts)).notes


async def test_a_trial_of_more_than_a_minute_ago_is_made_again(ws, tmp_path):
    trial = await marked(ws, tmp_path / "runs")
    old = dataclasses.replace(trial, began=trial.began - 61)
    assert SEEN not in (await found(ws, tmp_path / "runs", old, old.about[0])).notes
    again = await try_early(spec("", workspace=str(ws)), tmp_path / "runs", old)
    assert again is not old and again.holds_for(old.about)
    assert await try_early(spec("", workspace=str(ws)), tmp_path / "runs", again) is again
    await again.give_up()


async def test_a_trial_for_a_run_that_does_not_begin_leaves_nothing(ws, tmp_path):
    trial = await try_early(spec("", workspace=str(ws)), tmp_path / "runs")
    await trial.give_up()
    assert trial.trying.done()


def test_a_runner_that_tries_a_sandbox_ends_when_its_view_goes_away(ws, tmp_path):
    expected = Expected(
        model=ModelSpec(name="openai/fake"), is_typing=True, spec=spec("", workspace=str(ws)), runs=str(tmp_path)
    )
    argv = [sys.executable, "-P", "-m", "rundry.agent.run"]
    env = {**os.environ, "OPENAI_API_KEY": "o", "TMPDIR": str(tmp_path)}
    lines = msgspec.json.encode(expected) + b"\n"
    done = subprocess.run(argv, input=lines, capture_output=True, timeout=60, cwd=tmp_path, env=env, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert not [path for path in tmp_path.iterdir() if path != ws and any(path.iterdir())]
