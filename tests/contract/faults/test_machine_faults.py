"""Faults of the machine under a run: a full disk, a clock that jumps, a process that is stopped for a while."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.project import CHECK, FIX_ADD, FIX_BOTH, FIX_MEAN
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import Turn, call

FREE = 700_000
"""Bytes of the small disk."""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own for the runs folder, with little room."""
    folder = tmp_path / "small"
    folder.mkdir()
    argv = ["mount", "-t", "tmpfs", "-o", f"size={FREE}", "tmpfs", str(folder)]
    mounted = subprocess.run(argv, capture_output=True, check=False, text=True)
    if mounted.returncode:
        pytest.skip(f"a disk cannot be mounted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_run_whose_disk_fills_up_ends_as_a_fault_of_the_machine_and_resumes_with_room(
    home: Home, project: Path, small_disk: Path
):
    grow = call("run_command", command="head -c 60000 /dev/urandom | base64 -w 70")
    env = {"RUNDRY_RUNS_DIR": str(small_disk / "runs")}
    argv = ["run", "fix it", "--headless", "--json", "--gate", "auto", "--until", CHECK, "--model", "fake"]
    with ScriptedServer([FIX_ADD, *[grow] * 12], then=FIX_MEAN) as server:
        full = home.run(*argv, "--api-base", server.base_url, cwd=project, env=env)
        assert full.exit_code in (1, 75), full
        assert "the disk is full" in full.stderr and "Traceback" not in full.stderr
        subprocess.run(["mount", "-o", "remount,size=50m", str(small_disk)], check=True)
        (journal,) = (small_disk / "runs").glob("*.db")
        server.turns.clear()
        resumed = home.run("resume", journal.stem, "--headless", "--json", cwd=project, env=env)
        assert resumed.exit_code == 0, resumed
        checked = home.run("check", journal.stem, cwd=project, env=env)
    assert checked.exit_code == 0, checked


@pytest.mark.long
def test_a_runner_that_was_stopped_for_a_while_reports_no_time_out_and_no_stall(home: Home, project: Path):
    held = Turn(text="I think about it for a while", hold_after=4)
    argv = ["run", "fix it", "--headless", "--json", "--gate", "auto", "--until", CHECK, "--model", "fake"]
    with (
        ScriptedServer([call("run_command", command="sleep 2; echo slept"), held, FIX_BOTH], then=FIX_BOTH) as server,
        home.start(*argv, "--command-timeout", "4s", "--api-base", server.base_url, cwd=project) as running,
    ):
        running.wait_event("tool_called")
        stop_for(running.pid, 5.0)
        running.wait_event("text_arrived")
        stop_for(running.pid, 2.0)
        server.release()
        ran = running.finish()
    assert ran.exit_code == 0, ran
    (slept,) = ran.results("run_command")
    assert "slept" in slept and "timed out" not in slept
    assert ran.of("fault", "stall_detected") == []


def stop_for(pid: int, seconds: float) -> None:
    """Keep the process stopped, as Ctrl+Z or a debugger does."""
    os.kill(pid, signal.SIGSTOP)
    try:
        time.sleep(seconds)  # the length of the stop is what is tested
    finally:
        os.kill(pid, signal.SIGCONT)
