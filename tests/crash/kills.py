"""Kill a run at random times, as `kill -9` does, until it ends."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
from pathlib import Path

from fakes.rundry import RUNDRY

from .case import KILLED, Case
from .crashing import Whole, differences
from .kinds import Kind

MOST_KILLS = 3


def kill_and_resume(kind: Kind, root: Path, seed: int, whole: Whole) -> list[str]:
    """What is wrong after one to three kills at random times, a line each."""
    chance = random.Random(seed)
    case = Case.make(kind, root)
    kills = 0
    try:
        case.prepare()
        before = case.recorded()
        for _ in range(chance.randint(1, MOST_KILLS)):
            if not _run_and_kill(case, chance):
                break
            kills += 1
            now = case.recorded()
            if now[: len(before)] != before:
                return ["an event that was recorded before a kill is not there"]
            before = now
        case.finish()
        return [f"{line} (after {kills} kills)" for line in differences(case, whole, before, crashes=kills)]
    except (AssertionError, subprocess.TimeoutExpired) as error:
        return [str(error)[-2000:]]
    finally:
        case.close()
        shutil.rmtree(root, ignore_errors=True)


def _run_and_kill(case: Case, chance: random.Random) -> bool:
    """Start or resume it, and kill it after a random number of crash points; false: it ended before."""
    argv = case.next_argv()
    points = case.root / "points"
    points.unlink(missing_ok=True)
    started = subprocess.Popen(
        [str(RUNDRY), *argv],
        cwd=case.project,
        env={**case.home.env, "RUNDRY_CRASH_AT": "0", "RUNDRY_CRASH_LOG": str(points)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait(started, chance)
        started.send_signal(signal.SIGKILL)
        return started.wait() == KILLED
    finally:
        started.kill()
        started.wait()


def _wait(started: subprocess.Popen[bytes], chance: random.Random) -> None:
    """Until the process is somewhere between its start and its usual end."""
    try:
        started.wait(chance.uniform(0.05, 1.0) ** 2 * 6)
    except subprocess.TimeoutExpired:
        return
