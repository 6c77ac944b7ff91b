"""A judge that is killed leaves nothing, and the result is judged when the run is resumed."""

from __future__ import annotations

import os
import shutil
import signal
import time
from pathlib import Path

import pytest
from fakes.project import CHECK, FIX_BOTH
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import say

SLOW = f"sleep 1.5; {CHECK}"


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
def test_a_runner_that_is_killed_while_the_check_runs_in_the_view_judges_again(tmp_path: Path, project: Path):
    home = Home(tmp_path)
    with ScriptedServer([FIX_BOTH, say("done"), say("done")]) as server:
        base = ["--headless", "--json", "--gate", "auto", "--model", "fake", "--api-base", server.base_url]
        with home.start("run", "fix the suite", *base, "--until", SLOW, "--steps", "9", cwd=project) as running:
            running.wait_event("judge_started")
            until = time.monotonic() + 30
            while not home.kept_layers("judge"):
                assert time.monotonic() < until, "no view was made"
                time.sleep(0.02)
            running.signal(signal.SIGKILL)
            running.finish()
        (left,) = home.kept_layers("judge")
        os.utime(left, (1e9, 1e9))  # a young one may belong to a run that just begins
        killed = len(server.requests)
        ran = home.run("resume", "--headless", "--json", cwd=project)
        assert len(server.requests) == killed, "the model is not asked"
    assert ran.exit_code == 0 and ran.outcome["reason"] == "done", ran
    assert len(ran.of("judged")) == 1 and ran.outcome["evidence"]["grade"] == "judged", ran
    assert home.kept_layers("judge") == []
