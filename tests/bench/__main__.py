"""Measures what the session must reach, as ratios within one run, and prints one table.

    cd tests && python -m bench                    # all of them: about six minutes on two cores
    cd tests && python -m bench first-frame idle   # only these
    cd tests && python -m bench layers judge --page ../docs/performance.md   # only these, and their tables of the page
    cd tests && python -m bench growth --steps 20000   # the memory of a run of that length: about twenty minutes
    cd tests && python -m bench repair --help          # harnesses that repair programs with a real model: hours
    cd tests && python -m bench review            # reviews of real diffs with planted defects, if RUNDRY_REVIEWS is set

Exit code 1 where a limit is passed. Numbers of different runs do not compare: machines differ, and so does one machine
from minute to minute.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

from . import (
    budgets,
    dask_bench,
    direct,
    finder_bench,
    first_frame,
    frontier_bench,
    gate_bench,
    idle,
    judge_bench,
    layers_bench,
    rivals,
    stream,
)
from .repair import compare
from .review.measure import main as measure_reviews
from .runs import attach, growth, large, long_chat, many_runs, migrating, step_cost
from .table import Row, compile_all, page, print_table

BENCHES: dict[str, Callable[[Path], list[Row]]] = {
    "rivals": rivals.measure,
    "first-frame": first_frame.measure,
    "stream": stream.measure,
    "step-cost": lambda folder: asyncio.run(step_cost.measure(folder)),
    "idle": idle.measure,
    "budgets": lambda folder: asyncio.run(budgets.measure(folder)),
    "frontier": frontier_bench.measure,
    "finder": finder_bench.measure,
    "dask": dask_bench.measure,
    "gate": gate_bench.measure,
    "judge": lambda folder: asyncio.run(judge_bench.measure()),
    "layers": lambda folder: asyncio.run(layers_bench.measure(folder)),
    "attach": attach.measure,
    "growth": growth.measure,
    "large": large.measure,
    "long-chat": long_chat.measure,
    "direct": direct.measure,
    "many-runs": many_runs.measure,
    "migrate": migrating.measure,
}

ABOUT = {"judge": judge_bench.ABOUT, "layers": layers_bench.ABOUT, "rivals": rivals.ABOUT}
"""What stands above a table of the page."""


def main() -> int:
    if sys.argv[1:2] == ["repair"]:
        return compare.main(sys.argv[2:])
    if sys.argv[1:2] == ["review"]:
        return measure_reviews(sys.argv[2:])
    parser = argparse.ArgumentParser(description="Measures rundry.")
    parser.add_argument("names", nargs="*", help=f"of {', '.join(BENCHES)}; none: all")
    parser.add_argument("--steps", metavar="N", type=int, default=growth.STEPS, help="length of the run of growth")
    parser.add_argument(
        "--page", metavar="FILE", type=Path, help="write the tables to a page; with NAMES: only these tables of it"
    )
    asked = parser.parse_args()
    names = asked.names or list(BENCHES)
    if unknown := set(names) - set(BENCHES):
        parser.error(f"{', '.join(unknown)}: there are {', '.join(BENCHES)}")
    benches = {**BENCHES, "growth": partial(growth.measure, steps=asked.steps)}
    sys.setswitchinterval(0.0005)  # the thread that stamps what arrives must not wait for the one that types
    compile_all()
    former = asked.page.read_text("utf-8") if asked.page is not None and asked.names and asked.page.exists() else ""
    groups: dict[str, list[Row]] = {}
    for name in names:
        print(f"{name} ...", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="rundry-bench-") as folder:
            groups[name] = benches[name](Path(folder))
        if asked.page is not None:
            asked.page.write_text(page(groups, ABOUT, former), encoding="utf-8")
    rows = [row for group in groups.values() for row in group]
    print_table(rows)
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
