"""A proposal's new text in the person's own editor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from textual.app import App

from rundry.agent import RundryError

from ..editor import edit_text
from ..gate import GatePanel


def edit_proposal(app: App[Any], gate: GatePanel, event: GatePanel.EditAsked) -> None:
    """The new text in the person's editor, then back at the gate, which says what went wrong."""
    try:
        text = edit_text(app, event.text, Path(event.proposal.path or "text").name)
    except RundryError as error:
        text = None
        gate.say(str(error))
    else:
        if text is None and event.is_own:
            text = event.text
        elif text is None:
            gate.say("not changed")
    if text is None:
        gate.paint_soon()  # keys that were meant for the editor are not for the gate
    else:
        gate.show_edited(event.proposal, text)
