"""Press keys at the gate as a person does who decides, and does not type a word."""

from __future__ import annotations

from typing import Any

from painted import until
from textual.pilot import Pilot

from rundry.tui.gate import GatePanel


async def press(pilot: Pilot[Any], *keys: str) -> None:
    """Press each key, and wait until the gate knows that no word follows."""
    for key in keys:
        await pilot.press(key)
        await until(pilot, lambda: not any(panel.is_holding_back for panel in pilot.app.screen.query(GatePanel)))
        await pilot.pause()
