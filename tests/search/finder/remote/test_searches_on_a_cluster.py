"""`rundry find --executor`, the installed command, on real clusters of several processes."""

from __future__ import annotations

import socket
from pathlib import Path

import psutil
import pytest
from fakes.rundry import Home
from fakes.web.site import Site
from search.finder.remote.dask_cluster import DaskCluster

from .conftest import TREE, states_of, write_search

KEY = "sk-canary-000000000000"


def test_a_search_on_a_local_cluster_ends_with_the_keys_of_the_plain_pool_and_leaves_no_process(
    home: Home, place: Path
):
    plain = home.run("find", "search.toml", "--trust", "--headless", cwd=place)
    assert plain.exit_code == 0, plain
    ran = home.run("find", "search.toml", "--trust", "--executor", "dask:2x2", "--headless", "--json", cwd=place)
    assert ran.exit_code == 0, ran
    assert ran.outcome["reason"] == "dry"
    ours, theirs = (states_of(path) for path in home.journals())
    assert ours == theirs
    assert len(ours) == TREE
    assert not [one for one in psutil.process_iter(["cmdline"]) if str(place) in " ".join(one.info["cmdline"] or ())]


def test_a_search_on_a_scheduler_that_runs_ends_with_the_keys_of_the_plain_pool(
    home: Home, place: Path, cluster: DaskCluster
):
    home.run("find", "search.toml", "--trust", "--headless", cwd=place)
    ran = home.run("find", "search.toml", "--trust", "--executor", cluster.executor, "--headless", cwd=place)
    assert ran.exit_code == 0, ran
    ours, theirs = (states_of(path) for path in home.journals())
    assert ours == theirs


def test_a_crawl_on_a_cluster_reads_the_pages_of_the_plain_crawl_and_robots_txt_once(
    home: Home, place: Path, cluster: DaskCluster
):
    with Site(pages=60) as site:
        url = f"{site.url}/page/0"
        home.run("find", "--recipe", "crawl", url, "--headless", cwd=place)
        assert site.hits["/robots.txt"] == 1
        ran = home.run("find", "--recipe", "crawl", url, "--executor", cluster.executor, "--headless", cwd=place)
        assert ran.exit_code == 0, ran
        assert site.hits["/robots.txt"] == 2
        assert site.hits["/page/7"] == 2
    ours, theirs = (states_of(path) for path in home.journals())
    assert ours == theirs
    assert len(ours) >= 60


def test_a_command_on_a_worker_gets_named_variables_and_no_keys(home: Home, place: Path, tmp_path: Path):
    (place / "tool.py").write_text(
        "import os\ndef work(item):\n    return {'reason': str(sorted(n for n in os.environ if n.startswith('CANARY')"
        " or n.endswith('API_KEY'))) + os.environ.get('CANARY_NAMED', '')}\n"
    )
    env = {"OPENAI_API_KEY": KEY, "CANARY_NAMED": "named-value", "CANARY_TOKEN": "secret-value"}
    argv = [
        "find",
        "search.toml",
        "--trust",
        "--executor",
        "dask:1x1",
        "--sandbox-env",
        "CANARY_NAMED",
        "--headless",
        "--json",
    ]
    ran = home.run(*argv, cwd=place, env=env)
    assert ran.exit_code == 0, ran
    (end,) = ran.of("work_finished")
    assert end["reason"] == "['CANARY_NAMED']named-value"


@pytest.mark.parametrize(
    ("executor", "words"),
    [
        pytest.param(
            "dask://127.0.0.1:{port}",
            ["no Dask scheduler answers at dask://127.0.0.1:", "dask scheduler"],
            marks=pytest.mark.long,
        ),
        ("dask://10.9.9.9:8786", ["TLS is required", "tls://10.9.9.9:8786"]),
        ("tls://127.0.0.1:{port}", ["no certificates"]),
        ("spark", ["--executor spark", "write dask"]),
    ],
)
def test_a_cluster_that_cannot_be_used_is_one_line_and_no_journal(
    home: Home, place: Path, executor: str, words: list[str]
):
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))  # nobody listens
        asked = executor.format(port=one.getsockname()[1])
        ran = home.run("find", "search.toml", "--trust", "--executor", asked, "--headless", "--json", cwd=place)
    assert ran.exit_code == 2, ran
    assert ran.stdout == ""
    assert len(ran.stderr.strip().splitlines()) == 1, ran
    for word in words:
        assert word in ran.stderr, ran
    assert not home.journals()


def test_a_worker_with_another_version_of_rundry_is_refused_in_one_line(
    home: Home, place: Path, cluster: DaskCluster, tmp_path: Path
):
    other = tmp_path / "other" / "rundry-9.9.9.dist-info"
    other.mkdir(parents=True)
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: rundry\nVersion: 9.9.9\n")
    cluster.add_other(env={"PYTHONPATH": str(other.parent)})
    ran = home.run("find", "search.toml", "--trust", "--executor", cluster.executor, "--headless", cwd=place)
    assert ran.exit_code == 2, ran
    assert "rundry 9.9.9, the runner has" in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1, ran
    assert not home.journals()


def test_a_result_that_is_too_large_fails_its_item_and_not_the_cluster(home: Home, place: Path):
    (place / "tool.py").write_text("def work(item):\n    return {'reason': 'x' * 17_000_000}\n")
    argv = ["find", "search.toml", "--trust", "--executor", "dask:1x1", "--retries", "0", "--headless", "--json"]
    ran = home.run(*argv, cwd=place)
    (failed,) = ran.of("item_failed")
    assert "16,000,000" in failed["error"]


def test_many_quick_items_are_all_worked(home: Home, place: Path, cluster: DaskCluster):
    write_search(place, seconds=0.0, size=600)
    argv = ["find", "search.toml", "--trust", "--executor", cluster.executor, "--concurrency", "256", "--headless"]
    ran = home.run(*argv, cwd=place)
    assert ran.exit_code == 0, ran
    assert len(states_of(home.journals()[0])) == 600


def test_a_resumed_search_without_a_cluster_refuses_one(home: Home, place: Path):
    argv = ["find", "search.toml", "--trust", "--headless"]
    assert home.run(*argv, "--steps", "5", cwd=place).exit_code != 0
    journal = states_of(home.journals()[0])
    ran = home.run(*argv, "--resume", "--executor", "dask:1x1", cwd=place)
    assert ran.exit_code == 2, ran
    assert "works on this machine" in ran.stderr
    assert states_of(home.journals()[0]) == journal
