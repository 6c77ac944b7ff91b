"""Ask what happens to a run that is in progress when the person leaves."""

from __future__ import annotations

from textual import events

from ..keys.choice_screen import ChoiceScreen
from ..keys.keymap import LEAVES
from ..keys.screen_keymap import keymap_of

CHOICES = {
    "keep_running": ("background", "keep it running; `rundry watch` attaches again"),
    "wrap_up": ("wrap_up", "stop with a wrap-up, then leave"),
    "stop_now": ("now", "stop now and leave"),
    "close_dialog": ("stay", "stay"),
}
"""By the action: the answer, and what it does."""


class LeaveScreen(ChoiceScreen):
    """Returns `background`, `wrap_up`, `now` or `stay`."""

    def __init__(self) -> None:
        super().__init__("The run has not ended. What should happen to it?", CHOICES)

    def on_key(self, event: events.Key) -> None:
        """Decide by a letter; the key that leaves, pressed again, stops now."""
        name = keymap_of(self).action_of(event.key, "leave", "dialog", "main")
        if name in LEAVES:
            event.stop()
            self.dismiss("now")
        else:
            self.choose(event, name)
