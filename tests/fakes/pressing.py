"""Press keys as a person does who gives commands, and does not type a word."""

from __future__ import annotations

from typing import Any

from painted import until
from textual.pilot import Pilot

from rundry.tui.board.board import Board
from rundry.tui.gate.gate_panel import GatePanel
from rundry.tui.transcript.transcript import Transcript


def holds_back(pilot: Pilot[Any]) -> bool:
    """Return whether a letter waits because it may begin a word."""
    screen = pilot.app.screen
    parts = [*screen.query(GatePanel), *screen.query(Board), *(each.keyboard for each in screen.query(Transcript))]
    return any(part.is_holding_back for part in parts)


async def press(pilot: Pilot[Any], *keys: str) -> None:
    """Press each key, and wait until it is known that no word follows."""
    for key in keys:
        await pilot.press(key)
        await until(pilot, lambda: not holds_back(pilot))
        await pilot.pause()
