"""Measure the time to the first frame, next to an empty Textual app, and from then to the echo of a key."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from fakes.rundry import Home
from fakes.terminal import Terminal

from .table import Row, middle
from .typing import watch

ROUNDS = 7
EMPTY = """
from textual.app import App
from textual.widgets import Static

class Empty(App):
    def compose(self):
        yield Static("an empty app of Textual")

Empty().run()
"""


def measure(folder: Path) -> list[Row]:
    home = Home(folder)
    script = folder / "empty.py"
    script.write_text(EMPTY)
    ours: list[float] = []
    echoes: list[float] = []
    empty: list[float] = []
    model = ["--model", "fake", "--api-base", "http://127.0.0.1:9/v1"]
    for place in range(ROUNDS + 1):
        with Terminal([sys.executable, str(script)], env=home.env, cwd=folder) as terminal:
            terminal.wait_for(_painted)
            bare = _first_frame(terminal)
        with home.screen(*model, cwd=folder) as terminal:
            terminal.wait_for(_painted)
            while not terminal.has_echo_off():
                time.sleep(0.001)
            typed = terminal.send("qzx")
            terminal.wait_for("qzx")
            frame = _first_frame(terminal)
            shown = watch(terminal, [(typed, lambda lines: any("qzx" in line for line in lines))])[0]
        if place:  # the first round warms the disk
            empty.append(bare)
            ours.append(frame)
            echoes.append((shown or typed + 10) - max(typed, terminal.started + frame))
    return [
        Row("first painted frame", 1000 * middle(ours), "ms", 1000 * middle(empty), "an empty Textual app", 1.5),
        Row("echo of keys typed at the first frame", 1000 * middle(echoes), "ms"),
    ]


def _painted(lines: list[str]) -> bool:
    return sum(len(line.replace(" ", "")) for line in lines) >= 10


def _first_frame(terminal: Terminal) -> float:
    seen = watch(terminal, [(0.0, _painted)])[0]
    assert seen is not None
    return seen - terminal.started
