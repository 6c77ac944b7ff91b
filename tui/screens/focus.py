"""Move the focus: to the gate while a proposal waits there, else to the message box."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message
from textual.screen import Screen

if TYPE_CHECKING:
    from ..gate.panel import GatePanel
    from ..message.box import MessageBox

_IGNORED_SECONDS = 0.3
"""Time after the gate closed in which a second `y` is still meant for it."""


def update_focus(screen: Screen[None], box: MessageBox, gate: GatePanel) -> None:
    """Focus the gate or the message box, unless the user focused another widget."""
    if gate.display:
        gate.arming.keyed_now_empty(gate.is_stray(box.text))
        if screen.focused is None and gate.inner is not gate:
            screen.set_focus(gate.inner)
        elif screen.focused in (box, None) and gate.arming.may_focus(Message().time):
            screen.set_focus(gate.inner)
            gate.arming.focused()
    elif screen.focused is None or gate.has_focus_within:
        if gate.has_focus_within:
            box.ignore_keys_until(Message().time + _IGNORED_SECONDS)
        screen.set_focus(box)
