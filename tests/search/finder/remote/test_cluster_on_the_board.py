"""The workers of a cluster in the events and on the board of a real search."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fakes.rundry import Home

from .conftest import write_search

_WORKER = re.compile(r":\d{4,5} +[0-2]/2 +\d+ items? +\d+ %")


def test_the_events_name_the_workers_with_their_load_and_an_item(home: Home, place: Path):
    write_search(place, seconds=0.2)
    ran = home.run("find", "search.toml", "--trust", "--executor", "dask:2x2", "--headless", "--json", cwd=place)
    assert ran.exit_code == 0, ran
    seen = ran.of("workers_seen")
    assert any(len(event["workers"]) == 2 for event in seen)
    busy = [worker for event in seen for worker in event["workers"] if worker["items"]]
    assert busy, seen
    assert {worker["threads"] for worker in busy} == {2}
    assert all(worker["doing"].isdigit() and worker["name"].startswith("127.0.0.1:") for worker in busy)
    ends = [event["at"] for event in seen]
    assert len(ends) <= (ends[-1] - ends[0]) / 2 + 4, "an event for each look would fill the journal"


@pytest.mark.parametrize(("rows", "columns"), [(24, 80), pytest.param(40, 120, marks=pytest.mark.long)])
def test_the_board_shows_how_many_threads_are_busy_and_what_each_worker_does(
    home: Home, place: Path, rows: int, columns: int
):
    write_search(place, seconds=0.3, size=100_000)
    with home.screen(
        "find", "search.toml", "--trust", "--executor", "dask:2x2", cwd=place, rows=rows, columns=columns
    ) as terminal:
        terminal.wait_for("in flight")
        if columns < 100:
            terminal.press("f2")
            terminal.wait_for("2 work")
            terminal.press("2")
        terminal.wait_for(re.compile(r"workers\s+2\s+[1-4]/4 threads busy"))
        shown = terminal.wait_for(lambda lines: sum(bool(_WORKER.search(line)) for line in lines) == 2)
        assert max(map(len, shown.splitlines())) <= columns


def test_a_search_without_a_cluster_has_no_workers_on_its_board(home: Home, place: Path):
    write_search(place, seconds=0.3)
    with home.screen("find", "search.toml", "--trust", cwd=place, rows=40, columns=120) as terminal:
        text = terminal.wait_for("in flight")
        assert "threads busy" not in text
