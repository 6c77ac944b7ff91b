"""A goal run on a screen, and what its journal recorded."""

from __future__ import annotations

import json
import re
from pathlib import Path

from fakes.project import CHECK
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.terminal import Terminal
from fakes.turns import Turn

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import Stamped, event_type, to_json_line

HELD = Turn(text="I think about it for a while", hold_after=4)


def goal(server: ScriptedServer) -> list[str]:
    return ["fix the failing suite", "--until", CHECK, "--model", "fake", "--api-base", server.base_url]


def on_goal(
    home: Home,
    project: Path,
    server: ScriptedServer,
    *more: str,
    rows: int = 40,
    columns: int = 120,
    truecolor: bool = True,
) -> Terminal:
    """The screen of a run that has to turn the suite green."""
    return home.screen(*goal(server), *more, cwd=project, rows=rows, columns=columns, truecolor=truecolor)


def recorded(home: Home) -> list[Stamped]:
    """What the newest run's journal holds."""
    journal = Journal.open(home.journals()[-1])
    try:
        return journal.read()
    finally:
        journal.close()


def of(home: Home, *kinds: str) -> list[dict]:
    return [json.loads(to_json_line(s)) for s in recorded(home) if event_type(s.event) in kinds]


def at_gate(terminal: Terminal) -> str:
    """The screen, once a proposal stands there whole and keys go to it: the footer says how to leave it."""

    def ready(lines: list[str]) -> bool:
        text = "\n".join(lines)
        is_drawn = re.search(r"\d of \d", text) or not re.search(r"\d hunks? +\+\d", text)
        return bool("approve" in text and is_drawn and "esc message" in lines[-1])

    return terminal.wait_for(ready)
