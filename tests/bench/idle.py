"""What an open session costs while nobody does anything: the screen and its runner together."""

from __future__ import annotations

import time
from pathlib import Path

import psutil
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.terminal import Terminal
from fakes.turns import say

from .table import Row

SECONDS = 15.0


def measure(folder: Path) -> list[Row]:
    home, project = Home(folder), folder / "project"
    project.mkdir()
    with ScriptedServer(then=say("Here I am.")) as server:
        argv = ["--model", "fake", "--api-base", server.base_url]
        with home.screen(*argv, cwd=project) as terminal:
            terminal.wait_for("›")
            terminal.send("hello\r")
            terminal.wait_for("Here I am.")
            time.sleep(5)
            written, before = len(terminal.raw()), _cpu(terminal)
            time.sleep(SECONDS)
            share = 100 * (_cpu(terminal) - before) / SECONDS
            wrote = (len(terminal.raw()) - written) / SECONDS
    return [
        Row("idle session, share of a core", share, "%", limit=2),
        Row("idle session, bytes to the terminal a second", wrote, "B"),
    ]


def _cpu(terminal: Terminal) -> float:
    total = 0.0
    for process in terminal.tree():
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total
