"""Ask what happens to a run that is in progress when the user leaves."""

from __future__ import annotations

from collections.abc import Mapping

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from ...keyboard.clicks import press_clicked_key
from ...keyboard.closing import ClosesOnce
from ...keyboard.keymap import LEAVES
from ...keyboard.screen_keymap import keymap_of

CHOICES: Mapping[str, tuple[str, str]] = {
    "keep_running": ("background", "keep it running; `rundry watch` attaches again"),
    "wrap_up": ("wrap_up", "stop with a wrap-up, then leave"),
    "stop_now": ("now", "stop now and leave"),
    "close_dialog": ("stay", "stay"),
}
"""By the action: the answer, and what it does."""


class LeaveScreen(ClosesOnce[str], ModalScreen[str]):
    """Returns `background`, `wrap_up`, `now` or `stay`."""

    DEFAULT_CSS = """
    LeaveScreen { align: center middle; background: $background; }
    LeaveScreen Vertical { width: 64; max-width: 96%; height: auto; padding: 1 2; background: $surface; }
    LeaveScreen Static { height: auto; }
    """

    def compose(self) -> ComposeResult:
        """Lay out the question and its four answers."""
        rows = [Content.styled("The run has not ended. What should happen to it?", "bold $bright"), Content("")]
        rows += keymap_of(self).answers(*((name, about) for name, (_, about) in CHOICES.items()))
        with Vertical():
            yield Static(Content("\n").join(rows), markup=False)

    def on_click(self, event: events.Click) -> None:
        """Choose the clicked answer."""
        press_clicked_key(self, event)

    def on_key(self, event: events.Key) -> None:
        """Decide by a letter; the key that leaves, pressed again, stops now."""
        name = keymap_of(self).action_of(event.key, "leave", "dialog", "main")
        if name in LEAVES:
            event.stop()
            self.dismiss("now")
        elif name in CHOICES:
            event.stop()
            self.dismiss(CHOICES[name][0])
