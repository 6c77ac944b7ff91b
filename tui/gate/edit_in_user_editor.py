"""Edit the new text of a proposal in the user's editor."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rundry.agent import RundryError

if TYPE_CHECKING:
    from ..control.services import Services
    from .gate_panel import GatePanel


def edit_proposal(services: Services, gate: GatePanel, event: GatePanel.EditAsked) -> None:
    """Open the text in the user's editor and give the result to the gate, which shows an error if one occurred."""
    try:
        text = services.edit(event.text, Path(event.proposal.path or "text").name)
    except RundryError as error:
        text = None
        gate.say(str(error))
    else:
        if text is None and event.is_own:
            text = event.text
        elif text is None:
            gate.say("not changed")
    if text is None:
        gate.paint_soon()  # keys for the editor must not reach the gate
    else:
        gate.show_edited(event.proposal, text)
