"""What a search on a local Dask cluster must reach, and how it compares with the plain pool.

As a program: `python -m bench.dask_bench [WORKERS...]` prints the table of docs/explanation/scaling.md, and
`--page ../docs/explanation/scaling.md` writes it there.
"""

from __future__ import annotations

import argparse
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from fakes.rundry import RUNDRY, Home

from rundry.agent import plural

from .table import Row

WORK = 0.2
"""Seconds of an item that waits."""
_THREADS = 8
"""Threads of a worker."""
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
    words = [
        str(RUNDRY),
        "find",
        "search.toml",
        "--trust",
        "--headless",
        *(["--executor", executor] if executor else []),
    ]
    subprocess.run(words, cwd=place, env=home.env, check=True, capture_output=True, timeout=600)
    with closing(sqlite3.connect(home.journals()[0])) as journal:
        ends = [at for (at,) in journal.execute("SELECT at FROM events WHERE type = 'work_finished' ORDER BY seq")]
    assert len(ends) == items
    first, last = int(items * _FROM), int(items * _TO)
    return (ends[last] - ends[first]) / (last - first)


def table(counts: Sequence[int]) -> Iterator[str]:
    """Yield the lines of the table, each as soon as it is measured. `counts`: numbers of workers with 8 threads."""
    yield "| threads | pool | 200 ms, items a second | share of the ideal | no work, items a second |"
    yield "| --- | --- | --- | --- | --- |"
    with tempfile.TemporaryDirectory() as name:
        for workers in counts:
            threads = workers * _THREADS
            for title, executor in (
                ("plain", None),
                (f"{plural(workers, 'worker')} with {_THREADS} threads", f"dask:{workers}x{_THREADS}"),
            ):
                at_once = threads if executor is None else threads * 4
                slow = seconds_of_item(Path(name), WORK, executor, items=threads * 60, at_once=at_once)
                quick = seconds_of_item(Path(name), 0.0, executor, items=3_000, at_once=min(1_000, at_once * 4))
                share = WORK / threads / slow
                yield f"| {threads} | {title} | {1 / slow:,.0f} | {share:.0%} | {1 / quick:,.0f} |".replace("%", " %")


def main() -> None:
    given = argparse.ArgumentParser(prog="python -m bench.dask_bench", description=__doc__)
    given.add_argument("workers", nargs="*", type=int, default=[1, 2, 4, 8], help="numbers of workers (1 2 4 8)")
    given.add_argument("--page", type=Path, help="also replace the table of this page")
    options = given.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}", file=sys.stderr)
    lines: list[str] = []
    for line in table(options.workers):
        print(line, flush=True)
        lines.append(line)
    if options.page is not None:
        text = options.page.read_text("utf-8")
        old = re.search(r"^\| threads \| pool .*\n(?:\|.*\n)+", text, re.M)
        assert old is not None, f"{options.page} has no table of threads and pools"
        options.page.write_text(text.replace(old[0], "\n".join(lines) + "\n"), encoding="utf-8")


if __name__ == "__main__":
    main()
