"""What a search on a local Dask cluster must reach, and how it compares with the plain pool.

As a program: `python -m bench.dask_bench [MOST_WORKERS]` prints the table of docs/explanation/scaling.md.
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from fakes.rundry import RUNDRY, Home

from .table import Row

WORK = 0.2
"""Seconds of an item that waits."""
_FROM, _TO = 0.6, 0.95
"""The part of the items that counts: the start of the processes and the last, incomplete batches are left out."""
_TOOL = "import time\ndef work(item):\n    time.sleep({seconds})\n    return {{}}\n"
_SPEC = 'task = "n"\nconcurrency = {at_once}\n[budget]\nsteps = 10000000\n[worker]\npython = "tool:work"\n'


def measure(folder: Path) -> list[Row]:
    slow = seconds_of_item(folder, WORK, "dask:2x8", items=960, at_once=256)
    quick = seconds_of_item(folder, 0.0, "dask:2x8", items=5_000, at_once=1_000)
    plain = seconds_of_item(folder, 0.0, None, items=5_000, at_once=16)
    ideal = WORK * 1e3 / 16
    return [
        Row("items of 200 ms, 2 workers of 8 threads", slow * 1e3, "ms", ideal, "the ideal", limit=1 / 0.8),
        Row("an item without work, in batches", quick * 1e3, "ms", limit=3.0),
        Row("compared with the plain pool", quick * 1e3, "ms", plain * 1e3, "16 at the same time"),
    ]


def seconds_of_item(folder: Path, work: float, executor: str | None, *, items: int, at_once: int) -> float:
    """Run a search of items that take `work` seconds. Returns the time by the clock from item to item."""
    own = Path(tempfile.mkdtemp(dir=folder))
    home, place = Home(own), own / "place"
    place.mkdir()
    (place / "tool.py").write_text(_TOOL.format(seconds=work))
    seeds = "".join(f'[[seed]]\nkind = "value"\nvalue = "{number}"\n' for number in range(items))
    (place / "search.toml").write_text(_SPEC.format(at_once=at_once) + seeds)
    words = [str(RUNDRY), "find", "search.toml", "--headless", *(["--executor", executor] if executor else [])]
    subprocess.run(words, cwd=place, env=home.env, check=True, capture_output=True, timeout=600)
    with closing(sqlite3.connect(home.journals()[0])) as journal:
        ends = [at for (at,) in journal.execute("SELECT at FROM events WHERE type = 'work_finished' ORDER BY seq")]
    assert len(ends) == items
    first, last = int(items * _FROM), int(items * _TO)
    return (ends[last] - ends[first]) / (last - first)


def main() -> None:
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for workers in [count for count in (1, 2, 4, 8) if count <= most]:
            threads = workers * 8
            for title, executor in (("plain", None), (f"{workers} x 8", f"dask:{workers}x8")):
                at_once = threads if executor is None else threads * 4
                slow = seconds_of_item(folder, WORK, executor, items=threads * 60, at_once=at_once)
                quick = seconds_of_item(folder, 0.0, executor, items=3_000, at_once=min(1_000, at_once * 4))
                share = WORK / threads / slow
                print(f"| {threads} | {title} | {1 / slow:,.0f} | {share:.0%} | {1 / quick:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
