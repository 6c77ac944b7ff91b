"""What an open session costs while nobody does anything, screen and runner together: processor and memory."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.terminal import Terminal
from fakes.turns import Call, Turn, say

from .first_frame import EMPTY
from .table import Row

SECONDS = 12.0
SETTLE = 4.0
AT_PROMPT, LIMIT = 0.05, 0.2
"""Percent of a core: of the screen alone, and with a runner."""
MOST_MB = 110
ASKED = Turn(calls=(Call("run_command", {"command": "echo hello"}),))


def measure(folder: Path) -> list[Row]:
    home, project = Home(folder), folder / "project"
    project.mkdir()
    script = folder / "empty.py"
    script.write_text(EMPTY)
    with Terminal([sys.executable, str(script)], env=home.env, cwd=folder) as terminal:
        terminal.wait_for("an empty app")
        rows = [Row("an empty Textual app, share of a core", _share(terminal), "%")]
    with ScriptedServer([say("Here I am."), ASKED], then=say("Done.")) as server:
        argv = ["--model", "fake", "--api-base", server.base_url]
        with home.screen(*argv, cwd=project) as terminal:
            terminal.wait_for("›")
            rows.append(_row("at the prompt", terminal, AT_PROMPT))
            rows.append(Row("  memory (PSS)", _megabytes(terminal), "MB", limit=MOST_MB))
            terminal.send("hello\r")
            terminal.wait_for("Here I am.")
            written = len(terminal.raw())
            rows.append(_row("after an answer", terminal))
            wrote = (len(terminal.raw()) - written) / (SETTLE + SECONDS)
            rows.append(Row("  bytes to the terminal a second", wrote, "B"))
            terminal.send("run it\r")
            terminal.wait_for("echo hello")
            rows.append(_row("at the gate", terminal))
    path = home.journals()[0]
    with home.screen("watch", str(path), cwd=project) as terminal:
        terminal.wait_for("Here I am.")
        rows.append(_row("watching a run that is over", terminal))
    return rows


def _row(where: str, terminal: Terminal, limit: float = LIMIT) -> Row:
    return Row(f"idle {where}, share of a core", _share(terminal), "%", limit=limit)


def _share(terminal: Terminal) -> float:
    time.sleep(SETTLE)
    before = cpu_seconds(terminal)
    time.sleep(SECONDS)
    return 100 * (cpu_seconds(terminal) - before) / SECONDS


def cpu_seconds(terminal: Terminal) -> float:
    """Seconds so far, with more digits than the kernel's ticks have."""
    total = 0.0
    for process in terminal.tree():
        for thread in Path(f"/proc/{process.pid}/task").glob("*/schedstat"):
            total += int(thread.read_text().split()[0]) / 1e9
    return total


def _megabytes(terminal: Terminal) -> float:
    return sum(process.memory_full_info().pss for process in terminal.tree()) / 1e6
