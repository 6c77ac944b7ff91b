"""Workers that join in the middle of a run: one that cannot work its items is refused, and costs no key."""

from __future__ import annotations

import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.rundry import Home

from .conftest import states_of, write_search
from .dask_cluster import DaskCluster, wait_for
from .killing import expected


def with_other_version(folder: Path) -> tuple[dict[str, str], list[str]]:
    """The environment and options of a worker with another version of rundry."""
    other = folder / "other" / "rundry-0.0.1.dist-info"
    other.mkdir(parents=True)
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: rundry\nVersion: 0.0.1\n")
    return {"PYTHONPATH": str(other.parent)}, []


def without_rundry(folder: Path) -> tuple[dict[str, str], list[str]]:
    """The same of a worker that has Dask and not rundry."""
    packages = folder / "packages"
    packages.mkdir()
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "rundry" not in path.name:
            (packages / path.name).symlink_to(path)
    return {"PYTHONPATH": str(packages)}, ["-S"]


Kind = Callable[[Path], tuple[dict[str, str], list[str]]]
KINDS: list[tuple[Kind, str]] = [
    (with_other_version, "it has rundry 0.0.1, the runner has"),
    (without_rundry, "it has rundry (missing), the runner has"),
]


@pytest.mark.parametrize(("kind", "why"), [KINDS[0], pytest.param(*KINDS[1], marks=pytest.mark.long)])
def test_a_worker_with_other_packages_that_joins_is_refused_in_one_line_and_costs_no_attempt(
    home: Home, place: Path, cluster: DaskCluster, tmp_path: Path, kind: Kind, why: str
):
    write_search(place, seconds=0.25)
    argv = ["find", "search.toml", "--trust", "--executor", cluster.executor, "--headless", "--json"]
    with home.start(*argv, cwd=place) as running:
        running.wait_event("work_finished")
        env, options = kind(tmp_path)
        cluster.add_other(env, options)
        ran = running.finish()
    assert ran.exit_code == 0, ran
    assert ran.of("item_failed") == []
    assert states_of(home.journals()[0]) == expected()
    refused = {(one["name"], one["refused"]) for event in ran.of("workers_seen") for one in event["workers"]}
    assert [text for _, text in refused if text.startswith(why)], refused
    assert not any(one["batches"] for event in ran.of("workers_seen") for one in event["workers"] if one["refused"])


@pytest.mark.long
def test_the_refusal_is_one_line_of_plain_output(home: Home, place: Path, cluster: DaskCluster, tmp_path: Path):
    write_search(place, seconds=0.25)
    env, options = with_other_version(tmp_path)
    with home.start(
        "find", "search.toml", "--trust", "--executor", cluster.executor, "--headless", cwd=place
    ) as running:
        wait_for(lambda: bool(home.journals()) and "done" in states_of(home.journals()[0]).values())
        cluster.add_other(env, options)
        ran = running.finish()
    assert ran.exit_code == 0, ran
    assert ran.stderr.count("is not used: it has rundry 0.0.1") == 1, ran


@pytest.mark.long
def test_a_lost_connection_after_a_refusal_costs_no_key(home: Home, place: Path, cluster: DaskCluster, tmp_path: Path):
    write_search(place, seconds=0.25)
    argv = ["find", "search.toml", "--trust", "--executor", cluster.executor, "--headless", "--json"]
    with home.start(*argv, cwd=place) as running:
        running.wait_event("work_finished")
        cluster.add_other(*with_other_version(tmp_path))
        while not any(one["refused"] for one in running.wait_event("workers_seen")["workers"]):
            pass
        cluster.restart_scheduler()
        ran = running.finish()
    assert ran.exit_code == 0, ran
    assert states_of(home.journals()[0]) == expected()


@pytest.mark.long
def test_a_worker_that_refuses_a_batch_costs_no_attempt_while_there_are_others(
    home: Home, place: Path, cluster: DaskCluster, tmp_path: Path
):
    # its code is older than the version that its installation names, as in a checkout that was not updated
    stale = tmp_path / "stale"
    stale.mkdir()
    (stale / "sitecustomize.py").write_text("import rundry.agent.protocol.version as one\none.VERSION = '0.0.1'\n")
    write_search(place, seconds=0.25)
    argv = ["find", "search.toml", "--trust", "--executor", cluster.executor, "--headless", "--json"]
    with home.start(*argv, cwd=place) as running:
        running.wait_event("work_finished")
        cluster.add_other({"PYTHONPATH": str(stale)})
        ran = running.finish()
    assert ran.exit_code == 0, ran
    assert ran.of("item_failed") == []
    assert states_of(home.journals()[0]) == expected()
    refused = [one["refused"] for event in ran.of("workers_seen") for one in event["workers"] if one["refused"]]
    assert refused and refused[0].startswith("it has rundry 0.0.1, the runner has"), refused
