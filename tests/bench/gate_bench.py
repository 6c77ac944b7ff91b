"""The diff of a large change in a pseudo-terminal: from the key that opens it to its first paint; each scroll step.

A frame ends with a synchronized update. What counts is the first one whose text differs: colours come later.
"""

from __future__ import annotations

import gc
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from fakes.rundry import Home
from fakes.terminal import KEYS, Terminal
from fakes.views.emulator import Emulator

from .table import Row, middle, quantile

ROUNDS = 5
STEPS = 40
ROWS = 40
WIDTH = {"unified": 100, "split": 150}
LARGE, HUGE = (400, 11), (50_000, 8)
"""Hunks, and unchanged lines between two of them."""
_FRAME = re.compile(rb"\x1b\[\?2026l")
_EVERY = 0.09
_READY, _COMPARED = "ready to open", "compared to its end"


def measure(folder: Path) -> list[Row]:
    env = Home(folder).env
    rows: list[Row] = []
    for view, width in WIDTH.items():
        large: list[tuple[float, list[float]]] = []
        huge: list[tuple[float, list[float]]] = []
        plain: list[float] = []
        for place in range(ROUNDS):
            large.append(_open(env, LARGE, width))
            plain += _empty(env, width)
            huge += [_open(env, HUGE, width)] if place % 2 == 0 else []
        rows += _rows(f"5,000 lines, 400 hunks, {view}", large, plain, 100)
        rows += _rows(f"50,000 hunks, while they are compared and after, {view}", huge, plain, 300)
    return rows


def _rows(what: str, opened: list[tuple[float, list[float]]], plain: list[float], limit: float) -> list[Row]:
    paint, steps = 1000 * middle([first for first, _ in opened]), [1000 * step for _, found in opened for step in found]
    base, slow = 1000 * middle(plain), 1000 * quantile(plain, 0.95)
    return [
        Row(f"{what}: first paint", paint, "ms", limit=limit),
        Row("  compared with a full refresh of an empty app", paint, "ms", base, "its median"),
        Row(f"  {len(steps)} scroll steps, 95th percentile", quantile(steps, 0.95), "ms", limit=33),
        Row("  compared with that refresh", quantile(steps, 0.95), "ms", slow, "its 95th percentile"),
        Row("  median", middle(steps), "ms", base, "its median"),
    ]


def contents(hunks: int, gap: int) -> tuple[bytes, bytes]:
    """Return a change with this number of hunks, in code with repeated lines."""
    old: list[str] = []
    new: list[str] = []
    for hunk in range(hunks):
        same = [
            f"    total_{hunk}_{n} = compute(left, {n}, 'text')  # line {n}\n" if n % 3 == 0 else "    check()\n"
            for n in range(gap)
        ]
        old += [*same, f"    value_{hunk} = divide(alpha, beta, {hunk})\n"]
        new += [*same, f"    value_{hunk} = divide(alpha, gamma, {hunk}) if gamma else None\n"]
    return "".join(old).encode(), "".join(new).encode()


def _open(env: dict[str, str], size: tuple[int, int], width: int) -> tuple[float, list[float]]:
    """Seconds to the first paint, and of each scroll step; the process did not open one before."""
    argv = [sys.executable, "-m", "bench.gate_bench", "stage", *map(str, size)]
    with Terminal(argv, env=env, cwd=Path(__file__).parents[1], rows=ROWS, columns=width) as terminal:
        terminal.wait_for(_READY)
        while not terminal.has_echo_off():
            time.sleep(0.01)
        time.sleep(0.5)
        asked = terminal.send("g")
        time.sleep(0.4)
        sent = [_send(terminal, key) for key in _steps()]
        terminal.wait_for_bytes(_COMPARED.encode(), 120)
        sent += [_send(terminal, key) for key in _steps()]
        time.sleep(0.3)
        screens = list(_screens(terminal))
    return _until(screens, asked, _shows_lines), [_until(screens, at) for at in sent]


def _empty(env: dict[str, str], width: int) -> list[float]:
    argv = [sys.executable, "-m", "bench.gate_bench", "empty"]
    with Terminal(argv, env=env, cwd=Path(__file__).parents[1], rows=ROWS, columns=width) as terminal:
        terminal.wait_for("row 0")
        while not terminal.has_echo_off():
            time.sleep(0.01)
        time.sleep(0.5)
        sent = [_send(terminal, "n") for _ in range(STEPS)]
        time.sleep(0.3)
        screens = list(_screens(terminal))
    return [_until(screens, at) for at in sent]


def _steps() -> list[str]:
    return [KEYS["pagedown"], KEYS["down"], "]", KEYS["up"]] * (STEPS // 4)


def _send(terminal: Terminal, key: str) -> float:
    at = terminal.send(key)
    time.sleep(max(0.0, at + _EVERY - time.monotonic()))
    return at


def _screens(terminal: Terminal) -> Iterator[tuple[float, list[str]]]:
    """When each frame was whole, and what then stood there."""
    emulator = Emulator(terminal.rows, terminal.columns)
    for moment, data in terminal.output:
        emulator.feed(data)
        if _FRAME.search(data):
            yield moment, emulator.lines()


def _until(
    screens: list[tuple[float, list[str]]], since: float, shows: Callable[[list[str]], bool] = lambda lines: True
) -> float:
    before = next((lines for at, lines in reversed(screens) if at < since), list[str]())
    return next((at - since for at, lines in screens if at >= since and lines != before and shows(lines)), 10.0)


def _shows_lines(lines: list[str]) -> bool:
    return any("− " in line for line in lines) and any("+ " in line for line in lines)


def stage(hunks: int, gap: int) -> None:
    """An app of one pane that opens the change at a key."""
    from textual.app import App, ComposeResult
    from textual.widgets import Static

    from rundry.tui.diff.diff_pane import DiffPane
    from rundry.tui.theme.theme import register_themes

    before, after = contents(hunks, gap)

    class Stage(App[None]):
        def compose(self) -> ComposeResult:
            yield Static(_READY)
            yield DiffPane()

        def on_mount(self) -> None:
            register_themes(self)
            self.theme = "dark"
            self.query_one(DiffPane).focus()
            gc.freeze()  # as the session does

        def key_g(self) -> None:
            self.query_one(DiffPane).show_change("calc.py", before, after)

        def on_diff_pane_ready(self) -> None:
            self.query_one(Static).update(_COMPARED)

    Stage().run()


def empty() -> None:
    """An app that shows other text at a key."""
    from textual.app import App, ComposeResult
    from textual.widgets import Static

    class Empty(App[None]):
        count = 0

        def compose(self) -> ComposeResult:
            yield Static(self.text())

        def text(self) -> str:
            return "\n".join(f"row {self.count} " + "some text " * 8 for _ in range(ROWS))

        def key_n(self) -> None:
            self.count += 1
            self.query_one(Static).update(self.text())

    Empty().run()


if __name__ == "__main__":
    stage(int(sys.argv[2]), int(sys.argv[3])) if sys.argv[1] == "stage" else empty()
