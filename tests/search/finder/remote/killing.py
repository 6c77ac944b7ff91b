"""Searches on a cluster whose workers, scheduler and runner are killed with SIGKILL at random moments.

As a program: `python -m finder.remote.killing FOLDER CASES [FIRST_SEED]` prints how many ended with the right keys.
"""

from __future__ import annotations

import contextlib
import random
import subprocess
import sys
import time
from pathlib import Path

import psutil
from fakes.rundry import RUNDRY, Home

from rundry.agent.journal.journal import Journal
from rundry.agent.state.facts.checkpoint import last_end

from .conftest import TREE, states_of, write_search
from .dask_cluster import DaskCluster

SECONDS = 0.05
"""Duration of an item."""
KILLS = 3
TARGETS = ("worker", "scheduler", "runner")


def case(folder: Path, seed: int) -> tuple[list[str], dict[str, str]]:
    """Run one search and kill three times what the seed says. Returns what was killed, and the final states."""
    choice = random.Random(seed)
    home = Home(folder)
    place = folder / "place"
    place.mkdir()
    write_search(place, seconds=SECONDS)
    killed: list[str] = []
    with DaskCluster(folder) as cluster:
        runner = _start(home, place, cluster)
        try:
            for _ in range(KILLS):
                _wait(choice.uniform(0.0, 2.5), runner)
                if runner.poll() is not None:
                    break
                killed.append(choice.choice(TARGETS))
                if killed[-1] == "worker":
                    cluster.kill_worker(choice.randrange(len(cluster.workers)))
                elif killed[-1] == "scheduler":
                    cluster.restart_scheduler()
                else:
                    _kill_tree(runner)
                    if _has_ended(home):
                        return killed, states_of(home.journals()[-1])
                    runner = _start(home, place, cluster)
            assert runner.wait(200) == 0, f"exit code {runner.returncode} with seed {seed} after {killed}"
        finally:
            _kill_tree(runner)
    journals = home.journals()
    return killed, states_of(journals[-1])


def expected() -> dict[str, str]:
    """The states with which the plain pool ends."""
    return {str(number): "done" for number in range(TREE)}


def _start(home: Home, place: Path, cluster: DaskCluster) -> subprocess.Popen[bytes]:
    """Start the search, or resume it if its journal exists."""
    words = ["find", "search.toml", "--trust", "--executor", cluster.executor, "--headless"]
    if home.journals():
        words.append("--resume")
    log = (place.parent / "runner.log").open("ab")
    with log:
        return subprocess.Popen([str(RUNDRY), *words], cwd=place, env=home.env, stdout=log, stderr=log)


def _has_ended(home: Home) -> bool:
    """Return whether the run had ended when its runner was killed: then there is nothing to resume."""
    if not home.journals():
        return False
    journal = Journal.open(home.journals()[-1])
    try:
        return last_end(journal) is not None
    finally:
        journal.close()


def _wait(seconds: float, runner: subprocess.Popen[bytes]) -> None:
    """Wait, but not longer than the runner lives."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and runner.poll() is None:
        time.sleep(0.01)


def _kill_tree(runner: subprocess.Popen[bytes]) -> None:
    if runner.poll() is None:
        with contextlib.suppress(psutil.NoSuchProcess):  # it ended in the meantime
            for one in psutil.Process(runner.pid).children(recursive=True):
                one.kill()
        runner.kill()
    runner.wait()


def main() -> None:
    folder, cases = Path(sys.argv[1]), int(sys.argv[2])
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    equal = 0
    for seed in range(first, first + cases):
        own = folder / f"seed{seed}"
        own.mkdir(parents=True)
        began = time.monotonic()
        killed, states = case(own, seed)
        equal += states == expected()
        print(
            f"seed {seed}: {' '.join(killed) or 'nothing'}: {'equal' if states == expected() else states}, "
            f"{time.monotonic() - began:.1f} s",
            flush=True,
        )
    print(f"{equal} of {cases} equal")


if __name__ == "__main__":
    main()
