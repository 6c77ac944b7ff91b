"""Ask what happens to what is staged when the run should leave its stage."""

from __future__ import annotations

from collections.abc import Mapping

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from ..keyboard.clicks import press_clicked_key
from ..keyboard.closing import ClosesOnce
from ..keyboard.screen_keymap import keymap_of

CHOICES: Mapping[str, tuple[str, str]] = {
    "stage_apply": ("apply", "look at it, and apply what you accept"),
    "stage_drop": ("drop", "drop it: the workspace stays as it is"),
    "close_dialog": ("keep", "keep it staged, and stay in the stage"),
}
"""By the action: the answer, and what it does."""


class LeaveStageScreen(ClosesOnce[str], ModalScreen[str]):
    """Returns `apply`, `drop` or `keep`."""

    DEFAULT_CSS = """
    LeaveStageScreen { align: center middle; background: $background; }
    LeaveStageScreen Vertical { width: 64; max-width: 96%; height: auto; padding: 1 2; background: $surface; }
    LeaveStageScreen Static { height: auto; }
    """

    def __init__(self, staged: str) -> None:
        """`staged`: how much is staged, such as `3 files staged`."""
        super().__init__()
        self._staged = staged

    def compose(self) -> ComposeResult:
        """Lay out the question and its three answers."""
        rows = [Content.styled(f"{self._staged}. What should happen to it?", "bold $bright"), Content("")]
        rows += keymap_of(self).answers(*((name, about) for name, (_, about) in CHOICES.items()))
        with Vertical():
            yield Static(Content("\n").join(rows), markup=False)

    def on_click(self, event: events.Click) -> None:
        """Choose the clicked answer."""
        press_clicked_key(self, event)

    def on_key(self, event: events.Key) -> None:
        """Decide by a letter; the keys that close a dialog keep it staged."""
        keymap = keymap_of(self)
        name = "close_dialog" if keymap.closes(event.key) else keymap.action_of(event.key, "leave")
        if name in CHOICES:
            event.stop()
            self.dismiss(CHOICES[name][0])
