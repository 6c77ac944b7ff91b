"""Searches by a worker alone: no limit of steps by default, its network, and the cause of its failures."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from fakes.rundry import Home, Ran
from fakes.web.odd_pages import Reply
from fakes.web.site import Site

COUNTS = """\
def work(item):
    n = int(item["value"])
    return {"items": [{"kind": "value", "value": str(m)} for m in (2 * n + 1, 2 * n + 2) if m < 260]}
"""
READS = """\
import json, sys
from urllib.request import urlopen

item = json.load(sys.stdin)
print("looking", file=sys.stderr)
with urlopen(item["value"], timeout=5) as page:
    print(json.dumps({"reason": page.read().decode()}))
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "place"
    folder.mkdir()
    return folder


def find(home: Home, place: Path, worker: str, seed: tuple[str, str], *argv: str, above: str = "") -> Ran:
    kind, value = seed
    (place / "s.toml").write_text(
        f'task = "t"\nretries = 0\n{above}\n[[seed]]\nkind = "{kind}"\nvalue = "{value}"\n[worker]\n{worker}\n'
    )
    return home.run("find", "s.toml", "--headless", "--json", *argv, cwd=place)


def reads(home: Home, place: Path, address: str, more: str = "", *argv: str) -> Ran:
    (place / "read.py").write_text(READS)
    return find(home, place, f'command = ["{sys.executable}", "read.py"]\n{more}', ("url", address), *argv)


@pytest.mark.long
def test_no_default_of_steps_ends_a_search_without_a_model(home: Home, place: Path):
    (place / "tool.py").write_text(COUNTS)
    whole = find(home, place, 'python = "tool:work"', ("value", "0"), "--trust")
    assert (whole.exit_code, whole.outcome["reason"], whole.outcome["steps"]) == (0, "dry", 260), whole
    limited = find(home, place, 'python = "tool:work"', ("value", "0"), "--trust", above="[budget]\nsteps = 20")
    assert (limited.exit_code, limited.outcome["limit"]) == (3, "steps"), limited
    home.env["RUNDRY_STEPS"] = "30"
    by_user = find(home, place, 'python = "tool:work"', ("value", "0"), "--trust")
    assert (by_user.exit_code, by_user.outcome["limit"]) == (3, "steps"), by_user


@pytest.mark.long
def test_a_worker_without_network_names_the_cause_and_what_allows_it(home: Home, place: Path):
    with Site(routes={"/a": Reply(b"here")}) as site:
        ran = reads(home, place, f"{site.url}/a", "", "--trust")
        shown = home.run("find", "s.toml", "--trust", "--headless", cwd=place)
    (failed,) = ran.of("item_failed")
    cause = "exit code 1: urllib.error.URLError: <urlopen error [Errno 111] Connection refused> (no network: allow it"
    assert failed["error"].startswith(cause), failed["error"]
    assert "with `hosts` or `network` under [worker]); standard error: " in failed["error"]
    assert f"failed permanently  {cause}" in shown.stderr, shown
    assert site.asked == []


@pytest.mark.long
def test_a_file_that_is_trusted_gives_its_worker_the_network(home: Home, place: Path):
    with Site(routes={"/a": Reply(b"here")}) as site:
        refused = reads(home, place, f"{site.url}/a", "network = true")
        assert (refused.exit_code, site.asked) == (2, []) and "[worker] network" in refused.stderr, refused
        ran = reads(home, place, f"{site.url}/a", "network = true", "--trust")
    assert ran.exit_code == 0 and ran.of("work_finished")[0]["reason"] == "here", ran
    assert ran.of("run_started")[0]["network"] is True


@pytest.mark.long
def test_a_file_that_is_trusted_names_the_hosts_that_its_worker_reaches(home: Home, place: Path):
    with Site(routes={"/a": Reply(b"here")}) as site:
        refused = reads(home, place, f"{site.url}/a", 'hosts = ["example.org"]')
        assert refused.exit_code == 2 and "[worker] hosts" in refused.stderr, refused
        ran = reads(home, place, f"{site.url}/a", 'hosts = ["example.org"]', "--trust")
    started = ran.of("run_started")[0]
    assert any("commands can reach only these hosts: example.org" in note for note in started["notes"]), started
    assert ran.exit_code == 6 and site.asked == [], ran


@pytest.mark.parametrize(
    ("worker", "said"),
    [
        ('recipe = "crawl"\nnetwork = true', "[worker] network: a crawl reads the hosts of its seeds; leave it out"),
        ('command = ["true"]\nhosts = ["http://x/"]', "[worker] hosts: 'http://x/' is not a host"),
        ('command = ["true"]\nnetwork = "yes"', "network"),
    ],
)
def test_a_wrong_network_is_refused_in_one_line(home: Home, place: Path, worker: str, said: str):
    ran = find(home, place, worker, ("url", "http://localhost:1/"), "--trust")
    assert ran.exit_code == 2 and said in ran.stderr and len(ran.stderr.splitlines()) == 1, ran
