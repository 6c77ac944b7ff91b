"""What it costs to compare the guarded files of a large workspace in which nothing changed."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from pathlib import Path

from rundry.agent.protocol import Predicates
from rundry.agent.stops.guard import default_guard
from rundry.agent.workspace.seals.seals import Seals

from .table import Row, middle, quantile

FILES, GUARDED, IN_A_FOLDER = 50_000, 500, 100
ROUNDS = 60
LIMIT = 10
"""Milliseconds for the comparison after a step."""


def measure(folder: Path) -> list[Row]:
    """Rows for a workspace of 50,000 files, 500 of them guarded."""
    root = _workspace(folder / "project")
    guard = default_guard(Predicates(until=["python3 -m unittest -q"]), "make it work", root)
    seals = Seals(root, guard.seals, lambda data: "", goals=guard.depends.goals, installed=guard.depends.places)
    seals.capture(guard.depends.files)
    if len(seals.existing) != GUARDED:
        raise AssertionError(f"{len(seals.existing)} files are guarded")
    time.sleep(0.1)  # a file that is as new as its reading is always read again
    seals.compare()
    steps, work = _times(seals.compare_changed), _times(seals.compare_changed, time.thread_time)
    whole, bytecode = _times(seals.compare), _times(seals.drop_bytecode)
    what = f"{FILES:,} files, {GUARDED} guarded, no change"
    return [
        Row(f"{what}: the comparison after a step", middle(steps), "ms", limit=LIMIT),
        Row("  95th percentile", quantile(steps, 0.95), "ms"),
        Row("  processor time", middle(work), "ms"),
        Row("  the full comparison before a verdict", middle(whole), "ms"),
        Row("  the search for new bytecode before a verdict", middle(bytecode), "ms"),
    ]


def _workspace(root: Path) -> Path:
    for number in range(FILES // IN_A_FOLDER):
        is_test = number < GUARDED // IN_A_FOLDER
        folder = root / "tests" / f"t{number}" if is_test else root / "src" / f"p{number // 25}" / f"q{number % 25}"
        folder.mkdir(parents=True)
        for file in range(IN_A_FOLDER):
            name = f"test_{file}.py" if is_test else f"m{file}.py"
            folder.joinpath(name).write_text(f"x = {file}\n")
    return root


def _times(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> list[float]:
    """Milliseconds of each round."""
    found: list[float] = []
    gc.collect()
    for _ in range(ROUNDS):
        begin = clock()
        work()
        found.append(1000 * (clock() - begin))
    return found
