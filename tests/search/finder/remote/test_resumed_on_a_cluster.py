"""Searches on a cluster whose runner is killed, and that are resumed: on the same cluster, or on another one."""

from __future__ import annotations

import signal
import socket
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from fakes.rundry import Home, Running

from .conftest import states_of, write_search
from .dask_cluster import DaskCluster, children_named, wait_for
from .killing import expected


def ports_of(processes: Sequence[psutil.Process]) -> set[int]:
    """The ports on which these processes listen."""
    found: set[int] = set()
    for one in processes:
        with suppress(psutil.NoSuchProcess):
            found |= {wire.laddr.port for wire in one.net_connections("tcp") if wire.status == psutil.CONN_LISTEN}
    return found


def is_open(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def kill(running: Running) -> None:
    """Kill the runner while it works items."""
    running.wait_event("work_finished")
    running.signal(signal.SIGKILL)
    running.finish()


@pytest.mark.long
def test_a_killed_runner_leaves_no_process_or_port_and_its_resumed_search_ends_with_all_keys(home: Home, place: Path):
    write_search(place, seconds=0.1)
    argv = ["find", "search.toml", "--trust", "--executor", "dask:2x2", "--headless", "--json"]
    running = home.start(*argv, cwd=place)
    running.wait_event("work_finished")
    below = children_named(running.pid, "")
    ports = ports_of(below)
    assert len(ports) >= 3, "a scheduler and two workers"
    running.signal(signal.SIGKILL)
    running.finish()
    wait_for(lambda: not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in below))
    assert not any(is_open(port) for port in ports)
    ran = home.run(*argv, "--resume", cwd=place)
    assert ran.exit_code == 0, ran
    assert states_of(home.journals()[0]) == expected()
    assert not [one for one in psutil.process_iter(["cmdline"]) if str(place) in " ".join(one.info["cmdline"] or ())]


@pytest.mark.long
def test_a_resumed_search_moves_to_another_scheduler_and_stays_there(home: Home, place: Path, tmp_path: Path):
    write_search(place, seconds=0.05)
    argv = ["find", "search.toml", "--trust", "--headless", "--json"]
    with DaskCluster(tmp_path, workers=1) as first:
        kill(home.start(*argv, "--executor", first.executor, cwd=place))
    with DaskCluster(tmp_path, workers=1) as second:
        moved = home.start(*argv, "--resume", "--executor", second.executor, cwd=place)
        assert moved.wait_event("run_resumed")["executor"] == second.executor
        kill(moved)
        ran = home.run("resume", home.journals()[0].stem, "--headless", "--json", cwd=place)
        assert ran.exit_code == 0, ran
        names = {worker["name"] for event in ran.of("workers_seen") for worker in event["workers"]}
        assert names, "it is still on the second cluster"
    assert len(home.journals()) == 1
    assert states_of(home.journals()[0]) == expected()


@pytest.mark.long
@pytest.mark.parametrize("option", ["--executor", None])
def test_a_resumed_search_whose_scheduler_is_gone_is_one_line_and_the_run_stays_as_it_is(
    home: Home, place: Path, tmp_path: Path, option: str | None
):
    write_search(place, seconds=0.05)
    with DaskCluster(tmp_path, workers=1) as gone:
        kill(
            home.start("find", "search.toml", "--trust", "--headless", "--json", "--executor", gone.executor, cwd=place)
        )
    before = states_of(home.journals()[0])
    more = [option, "dask://127.0.0.1:9"] if option is not None else []
    ran = home.run("resume", home.journals()[0].stem, *more, "--headless", cwd=place)
    assert ran.exit_code == 2, ran
    assert len(ran.stderr.strip().splitlines()) == 1, ran
    assert f"no Dask scheduler answers at {more[1] if more else gone.executor}" in ran.stderr
    assert states_of(home.journals()[0]) == before
