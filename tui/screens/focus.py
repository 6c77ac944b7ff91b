"""Who has the focus: the gate when something waits there, else the message box."""

from __future__ import annotations

from textual.message import Message
from textual.screen import Screen

from ..gate import GatePanel
from ..message import MessageBox

DEAF_SECONDS = 0.3
"""In which a second `y` is still meant for the gate that just closed."""


def mind_the_focus(screen: Screen[None], box: MessageBox, gate: GatePanel) -> None:
    """Bring it to where it belongs; what the person went to on their own keeps it."""
    if gate.display:
        gate.arming.keyed_now_empty(not box.text)
        if screen.focused is None and gate.inner is not gate:
            screen.set_focus(gate.inner)
        elif screen.focused in (box, None) and gate.arming.may_focus(Message().time):
            screen.set_focus(gate.inner)
            gate.arming.focused()
    elif screen.focused is None or gate.has_focus_within:
        if gate.has_focus_within:
            box.deaf_until = Message().time + DEAF_SECONDS
        screen.set_focus(box)
