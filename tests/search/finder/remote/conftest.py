"""A cluster of real processes, and searches whose items are worked there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from search.finder.remote.dask_cluster import DaskCluster

from rundry.agent.journal.journal import Journal
from rundry.agent.search.items.frontier_view import FrontierView
from rundry.agent.search.items.item_state import State

pytest.importorskip("distributed", reason="rundry[dask] is not installed")

TREE = 120
TOOL = """
import pathlib, time

def work(item):
    time.sleep({seconds})
    n = int(item["value"])
    return {{"items": [{{"kind": "value", "value": str(m)}} for m in (2 * n + 1, 2 * n + 2) if m < {size}]}}
"""
SPEC = """
task = "count"
concurrency = 16
retries = 3
[budget]
steps = 100000
[[seed]]
kind = "value"
value = "0"
[worker]
python = "tool:work"
timeout = "30s"
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A search of a binary tree: item n brings 2n+1 and 2n+2."""
    folder = tmp_path / "place"
    folder.mkdir()
    write_search(folder)
    return folder


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[DaskCluster]:
    with DaskCluster(tmp_path) as made:
        yield made


def write_search(folder: Path, *, seconds: float = 0.01, size: int = TREE) -> None:
    (folder / "tool.py").write_text(TOOL.format(seconds=seconds, size=size))
    (folder / "search.toml").write_text(SPEC)


def states_of(path: Path) -> dict[str, str]:
    """Each key of the search with its state."""
    journal = Journal.open(path)
    try:
        view = FrontierView(journal)
        return {row.key: state.value for state in State for row in view.page(state, limit=100_000)}
    finally:
        journal.close()
