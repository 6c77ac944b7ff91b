"""What a view keeps of a long run: its memory after 500 steps, and 1,500 and 3,000 steps later."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
from fakes.rundry import Home
from fakes.terminal import Terminal

from rundry.agent.journal import Journal, claim
from rundry.agent.protocol import Budget, LoopKind, ModelSpec, RunSpec, RunStarted, ToolFinished

from .attach import make_step
from .table import Row

FIRST, LATER, LAST = 500, 2_000, 3_500
LINES = 40
"""Of each tool's result."""


def measure(folder: Path) -> list[Row]:
    home, project = Home(folder), folder / "project"
    project.mkdir()
    path = home.runs / "long.db"
    spec = RunSpec(run_id="long", loop=LoopKind.GOAL, task="t", workspace=str(project), model=ModelSpec(name="fake"))
    journal = Journal.create(path, spec)
    with claim(path):
        journal.append(
            RunStarted(
                run_id="long", loop=spec.loop, task="t", workspace=spec.workspace, model="fake", budget=Budget(),
                journal=str(path),
            )
        )  # fmt: skip
        with home.screen("watch", "long", cwd=project) as view:
            view.wait_for("›")
            sizes = {
                last: _after(view, journal, first, last) for first, last in ((0, FIRST), (FIRST, LATER), (LATER, LAST))
            }
    journal.close()
    return [
        Row(f"memory of a view after {LATER:,} steps", sizes[LATER], "MB", sizes[FIRST], f"after {FIRST} steps", 1.1),
        Row(f"  after {LAST:,} steps", sizes[LAST], "MB", sizes[FIRST], f"after {FIRST} steps"),
    ]


def _after(view: Terminal, journal: Journal, first: int, last: int) -> float:
    """Megabytes of the view, once these steps came in one after the other and it has shown them."""
    for number in range(first + 1, last + 1):
        for event in make_step(number):
            if isinstance(event, ToolFinished):
                lines = "".join(f"line {line} of what step {number} read\n" for line in range(LINES))
                event = msgspec.structs.replace(event, result=lines)
            journal.append(event, step=number)
        time.sleep(0.003)
    time.sleep(2)
    return sum(process.memory_full_info().pss for process in view.tree()) / 1e6
