"""Ask what happens to what is staged when the run should leave its stage."""

from __future__ import annotations

from textual import events

from ..keyboard.choice_screen import ChoiceScreen
from ..keyboard.screen_keymap import keymap_of

CHOICES = {
    "stage_apply": ("apply", "look at it, and apply what you accept"),
    "stage_drop": ("drop", "drop it: the workspace stays as it is"),
    "close_dialog": ("keep", "keep it staged, and stay in the stage"),
}
"""By the action: the answer, and what it does."""


class LeaveStageScreen(ChoiceScreen):
    """Returns `apply`, `drop` or `keep`."""

    def __init__(self, staged: str) -> None:
        """`staged`: how much is staged, such as `3 files staged`."""
        super().__init__(f"{staged}. What should happen to it?", CHOICES)

    def on_key(self, event: events.Key) -> None:
        """Decide by a letter; the keys that close a dialog keep it staged."""
        keymap = keymap_of(self)
        self.choose(event, "close_dialog" if keymap.closes(event.key) else keymap.action_of(event.key, "leave"))
