"""Press keys at the gate as a person does who decides, and does not type a word."""

from __future__ import annotations

from typing import Any

from textual.pilot import Pilot

from rundry.tui.gate import GatePanel


async def press(pilot: Pilot[Any], *keys: str) -> None:
    """Press each key, and wait until the gate knows that no word follows."""
    for key in keys:
        await pilot.press(key)
        for _ in range(400):
            if not any(panel.is_holding_back for panel in pilot.app.screen.query(GatePanel)):
                break
            await pilot.pause(0.02)
        else:
            raise AssertionError(f"the gate never acted on {key}")
        await pilot.pause()
