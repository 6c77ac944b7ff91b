"""Workers, schedulers and runners killed with SIGKILL: a search ends with the keys of the plain pool."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from fakes.rundry import Home

from .conftest import states_of, write_search
from .dask_cluster import DaskCluster, children_named, wait_for
from .killing import case, expected


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 6, *range(101, 121)])
def test_a_search_whose_cluster_is_killed_in_parts_ends_with_all_keys(tmp_path: Path, seed: int):
    killed, states = case(tmp_path, seed)
    assert states == expected(), killed


@pytest.mark.long
def test_a_killed_local_cluster_is_started_again_and_no_key_is_lost(home: Home, place: Path):
    write_search(place, seconds=0.05)
    running = home.start("find", "search.toml", "--trust", "--executor", "dask:1x4", "--headless", "--json", cwd=place)
    running.wait_event("work_finished")
    (host,) = children_named(running.pid, "remote.local_cluster")
    host.kill()
    ran = running.finish()
    assert ran.exit_code == 0, ran
    assert states_of(home.journals()[0]) == expected()


def test_a_killed_runner_leaves_no_process_of_its_local_cluster(home: Home, place: Path):
    write_search(place, seconds=0.2)
    running = home.start("find", "search.toml", "--trust", "--executor", "dask:2x2", "--headless", "--json", cwd=place)
    running.wait_event("work_finished")
    below = children_named(running.pid, "")
    assert len(below) >= 4
    running.signal(signal.SIGKILL)
    wait_for(lambda: not any(one.is_running() and one.status() != "zombie" for one in below))
    running.finish()


@pytest.mark.long
def test_a_restart_of_the_scheduler_is_one_line(home: Home, place: Path, cluster: DaskCluster):
    write_search(place, seconds=0.1)
    argv = ("find", "search.toml", "--trust", "--executor", cluster.executor, "--headless", "--json")
    running = home.start(*argv, cwd=place)
    running.wait_event("work_finished")
    cluster.restart_scheduler()
    ran = running.finish()
    assert ran.exit_code == 0, ran
    losses = [event["lost"] for event in ran.of("workers_seen") if event["lost"]]
    assert len(losses) == 1 and "was lost" in losses[0] and losses[0].endswith("its items are sent again"), losses
    assert "Traceback" not in ran.stderr and "distributed" not in ran.stderr, ran.stderr
    assert states_of(home.journals()[0]) == expected()
