"""The memory of a screen and of the runner behind it, over a long goal run with tool calls."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from fakes.project import make_project
from fakes.rundry import Home
from fakes.terminal import Terminal

from rundry.agent.journal.claim import holder

from ..serving import serving
from ..table import Row

FIRST = 500
"""The step whose memory the later ones are compared with."""
SAMPLED = (2_000, 5_000, 10_000, 20_000)
STEPS = 3_000
"""Unless the caller asks for another number: about two minutes."""
LIMIT = 1.05
FILES, LINES = 200, 40
_READINGS = 9
_NEWEST = "SELECT step FROM events WHERE step IS NOT NULL ORDER BY seq DESC LIMIT 1"


@dataclass
class Sizes:
    """Megabytes at one step, without the files that are mapped: those are shared with whatever else runs."""

    screen: float
    runner: float


def measure(folder: Path, steps: int = STEPS) -> list[Row]:
    """`steps`: how far the run goes."""
    home, project = Home(folder), folder / "project"
    _make_files(project)
    marks = [FIRST, *(step for step in SAMPLED if step < steps), steps]
    with serving({"turns": [_turn(step) for step in range(steps + FIRST)]}, folder, logs=False) as server:
        argv = ["go", "--until-file", "never", "--gate", "edits", "--steps", str(steps + FIRST), "--time", "none"]
        argv += ["--model", "fake", "--api-base", server.base_url, "--context", "16000"]
        with home.screen(*argv, "--tokens", "none", "--usd", "none", cwd=project) as view:
            view.wait_for(lambda lines: bool(home.journals()))
            sizes = {mark: _sizes(view, home.journals()[0], mark) for mark in marks}
    first = sizes.pop(FIRST)
    return [row for mark, later in sizes.items() for row in _rows(mark, later, first)]


def _rows(mark: int, later: Sizes, first: Sizes) -> list[Row]:
    after = f"after {FIRST} steps"
    return [
        Row(f"memory of a screen after {mark:,} steps", later.screen, "MB", first.screen, after, LIMIT),
        Row("  of its runner", later.runner, "MB", first.runner, after, LIMIT),
    ]


def _make_files(project: Path) -> None:
    project.mkdir()
    for number in range(FILES):
        path = project / _path(number)
        path.parent.mkdir(exist_ok=True)
        path.write_text("VALUE = 0\n" + "".join(f"# line {line} of module {number}\n" for line in range(LINES)))
    make_project(project)


def _path(number: int) -> str:
    return f"package{number % 20}/module{number}.py"


def _turn(step: int) -> dict[str, object]:
    """Read a file, then edit it; the next two steps take the next file."""
    turn, number = divmod(step // 2, FILES)
    if step % 2:
        edits = [{"old_text": f"VALUE = {turn}\n", "new_text": f"VALUE = {turn + 1}\n"}]
        return {
            "text": "I edit.",
            "calls": [{"name": "edit_file", "arguments": {"path": _path(number), "edits": edits}}],
        }
    return {"text": f"I read {number}.", "calls": [{"name": "read_file", "arguments": {"path": _path(number)}}]}


def _sizes(view: Terminal, journal: Path, step: int) -> Sizes:
    """Of both processes, once the run has come that far: the middle of several readings."""
    _wait_for_step(view, journal, step)
    held = holder(journal)
    assert held is not None, view.text()
    screen, runner = list[float](), list[float]()
    for _ in range(_READINGS):
        screen.append(own_megabytes(view.pid))
        runner.append(own_megabytes(held.pid))
        time.sleep(0.2)
    return Sizes(median(screen), median(runner))


def own_megabytes(pid: int) -> float:
    """The proportional set size (PSS) without mapped files."""
    lines = (line.split() for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:])
    kilobytes = {line[0]: int(line[1]) for line in lines}
    return (kilobytes["Pss:"] - kilobytes["Pss_File:"]) * 1024 / 1e6


def _wait_for_step(view: Terminal, journal: Path, step: int) -> None:
    newest, moved = 0, time.monotonic()
    with closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True)) as database:
        while newest < step:
            time.sleep(0.1)
            before, row = newest, database.execute(_NEWEST).fetchone()
            newest = row[0] if row is not None else 0
            moved = time.monotonic() if newest > before else moved
            assert time.monotonic() - moved < 60, f"no step after {newest}; the screen:\n{view.text()}"
