"""A chat of 300 turns and 45,000 lines against its own first turns, and against a chat of 30 turns that continues."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import psutil
from fakes.project import make_project
from fakes.rundry import Home
from fakes.terminal import Terminal

from rundry.agent.journal.claim import holder
from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import Say

from ..serving import serving
from ..table import Row
from ..typing import Typist, watch
from .growth import own_megabytes

TURNS, SHORT = 300, 30
STRETCH = 30
"""Turns of which the processor time is added up."""
FILES, LINES, ANSWER = 40, 90, 60
WINDOW = "16000"
"""Tokens: after a few turns each prompt is as long as any later one."""
ROUNDS, KEYS, PAGES = 3, 40, 40


@dataclass
class Continued:
    """What `rundry -c` took, each in all rounds."""

    frame: list[float] = field(default_factory=list[float])
    screen: list[float] = field(default_factory=list[float])
    runner: list[float] = field(default_factory=list[float])
    key: list[float] = field(default_factory=list[float])
    page: list[float] = field(default_factory=list[float])
    screen_size: list[float] = field(default_factory=list[float])
    runner_size: list[float] = field(default_factory=list[float])


def measure(folder: Path) -> list[Row]:
    turns = [turn for number in range(TURNS) for turn in _turns(number)]
    homes = {name: Home(folder / name) for name in ("long", "short")}
    with serving({"turns": turns}, folder, logs=False) as server:
        first, last, size = _held(homes["long"], folder / "long", server.base_url, TURNS)
    with serving({"turns": turns}, folder, logs=False) as server:
        _held(homes["short"], folder / "short", server.base_url, SHORT)
    found = {"long": Continued(), "short": Continued()}
    for _ in range(ROUNDS):
        for name, one in found.items():
            _continue(homes[name], folder / name, one)
    long, short = found["long"], found["short"]
    begin, of_short = f"turns {STRETCH} to {2 * STRETCH}", f"after {SHORT} turns"
    rows = [
        Row(
            f"processor time of the runner for a turn, the last {STRETCH} of {TURNS}",
            last[0],
            "ms",
            first[0],
            begin,
            1.15,
        ),
        Row("  of the screen", last[1], "ms", first[1], begin, 1.15),
        Row("journal for a turn", size, "kB"),
    ]
    for what, unit, limit, name in (
        (f"first frame of `rundry -c` after {TURNS} turns", "ms", 1.3, "frame"),
        ("  processor time of its screen until it continues", "ms", 1.25, "screen"),
        ("  of its runner", "ms", 1.25, "runner"),
        ("  of the screen for a typed key", "ms", 1.2, "key"),
        ("  of the screen for a page up", "ms", 1.5, "page"),
        ("  memory of the screen", "MB", 1.1, "screen_size"),
        ("  of the runner", "MB", 1.1, "runner_size"),
    ):
        rows.append(Row(what, median(getattr(long, name)), unit, median(getattr(short, name)), of_short, limit))
    return rows


def _turns(number: int) -> list[dict[str, object]]:
    """Read a file, edit it, and say much."""
    path, value = _path(number % FILES), number // FILES
    edits = [{"old_text": f"VALUE = {value}\n", "new_text": f"VALUE = {value + 1}\n"}]
    points = "".join(
        f"- point {line} of answer {number}: words about `{path}` that fill a line\n" for line in range(ANSWER)
    )
    return [
        {"text": f"I read {number}.", "calls": [{"name": "read_file", "arguments": {"path": path}}]},
        {"text": "I edit.", "calls": [{"name": "edit_file", "arguments": {"path": path, "edits": edits}}]},
        {"text": f"Answer {number}.\n\n{points}"},
    ]


def _path(number: int) -> str:
    return f"package{number % 8}/module{number}.py"


def _held(
    home: Home, folder: Path, base_url: str, turns: int
) -> tuple[tuple[float, float], tuple[float, float], float]:
    """Hold a chat of that number of turns on a screen, and kill its runner.

    Returns the milliseconds of runner and screen for a turn, early and at the end, and the kilobytes of the journal.
    """
    project = folder / "project"
    project.mkdir()
    for number in range(FILES):
        path = project / _path(number)
        path.parent.mkdir(exist_ok=True)
        path.write_text("VALUE = 0\n" + "".join(f"# line {line} of module {number}\n" for line in range(LINES)))
    make_project(project)
    limits = ["--tokens", "none", "--usd", "none", "--context", WINDOW]
    argv = ["--gate", "edits", "--diagnostics", "off", "--model", "fake", "--api-base", base_url, *limits, "turn 0"]
    spent: dict[int, tuple[float, float]] = {}
    with home.screen(*argv, cwd=project) as view:
        view.wait_for(lambda _: bool(home.journals()))
        path = home.journals()[0]
        journal = Journal.open(path)
        for number in range(turns):
            _wait_for_turn(path, number)
            if number in (STRETCH, 2 * STRETCH, turns - STRETCH, turns - 1):
                spent[number] = _spent(_runner(path)), _spent(view.pid)
            if number + 1 < turns:
                journal.inbox.put(Say(text=f"turn {number + 1}: and the next module"))
        journal.close()
    home.end_runners()
    size = path.stat().st_size / 1000 / turns
    if turns < 3 * STRETCH:
        return (0.0, 0.0), (0.0, 0.0), size
    early = _by_turn(spent, STRETCH, 2 * STRETCH)
    return early, _by_turn(spent, turns - STRETCH, turns - 1), size


def _by_turn(spent: dict[int, tuple[float, float]], start: int, end: int) -> tuple[float, float]:
    runner, screen = (1000 * (b - a) / (end - start) for a, b in zip(spent[start], spent[end], strict=True))
    return runner, screen


def _wait_for_turn(path: Path, number: int) -> None:
    """Wait until the chat has waited for its person more than `number` times."""
    until = time.monotonic() + 60
    while _waited(path) <= number:
        assert time.monotonic() < until, f"turn {number} did not end"
        time.sleep(0.01)


def _waited(path: Path) -> int:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        return database.execute("SELECT count(*) FROM events WHERE type = 'waiting'").fetchone()[0]


def _continue(home: Home, folder: Path, found: Continued) -> None:
    """Continue the chat, type, go to its start by pages, and kill its runner."""
    with serving({"then": {"text": "ok"}}, folder, logs=False) as server:
        journal = home.journals()[0]
        waited = _waited(journal)
        argv = ["-c", "--model", "fake", "--api-base", server.base_url, "--context", WINDOW]
        with home.screen(*argv, cwd=folder / "project") as view:
            _wait_for_turn(journal, waited)
            view.wait_for("resumed")
            (frame,) = watch(view, [(0.0, lambda lines: sum(len(line.replace(" ", "")) for line in lines) >= 10)])
            runner = _runner(journal)
            assert frame is not None
            found.frame.append(1000 * (frame - view.started))
            found.screen.append(1000 * _spent(view.pid))
            found.runner.append(1000 * _spent(runner))
            with _counted(view, found.key, KEYS):
                typist = Typist(view, every=0.05, most=KEYS)
                typist.start()
                time.sleep(KEYS * 0.05 + 0.5)
                typist.stop()
            view.press("esc", "esc")
            with _counted(view, found.page, PAGES):
                for _ in range(PAGES):
                    view.press("pageup")
                    time.sleep(0.05)
            found.screen_size.append(own_megabytes(view.pid))
            found.runner_size.append(own_megabytes(runner))
    home.end_runners()


@contextmanager
def _counted(view: Terminal, into: list[float], count: int) -> Iterator[None]:
    """Add the milliseconds of the screen's processor time for each of that number of actions."""
    before = _spent(view.pid)
    yield
    time.sleep(0.3)
    into.append(1000 * (_spent(view.pid) - before) / count)


def _runner(path: Path) -> int:
    held = holder(path)
    assert held is not None
    return held.pid


def _spent(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system
