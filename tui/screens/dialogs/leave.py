"""Leaving while a run goes on: does it go on?"""

from __future__ import annotations

from collections.abc import Mapping

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

CHOICES: Mapping[str, tuple[str, str]] = {
    "b": ("background", "keep it running; `rundry watch` attaches again"),
    "w": ("wrap_up", "stop with a wrap-up, then leave"),
    "s": ("now", "stop now and leave"),
    "escape": ("stay", "stay"),
}


class LeaveScreen(ModalScreen[str]):
    """Gives `background`, `wrap_up`, `now` or `stay`."""

    DEFAULT_CSS = """
    LeaveScreen { align: center middle; background: $background 60%; }
    LeaveScreen Vertical { width: 64; max-width: 96%; height: auto; padding: 1 2; background: $surface; }
    LeaveScreen Static { height: auto; }
    """

    def compose(self) -> ComposeResult:
        """One question, four answers."""
        rows = [Content.styled("The run has not ended. What should happen to it?", "bold $bright"), Content("")]
        for key, (_, about) in CHOICES.items():
            shown = "esc" if key == "escape" else key
            rows.append(Content.assemble((shown.rjust(3), "bold $needs-you"), "   ", about))
        with Vertical():
            yield Static(Content("\n").join(rows), markup=False)

    def on_key(self, event: events.Key) -> None:
        """A letter decides; ctrl+c again stops now."""
        event.stop()
        if event.key in ("ctrl+c", "ctrl+q"):
            self.dismiss("now")
        elif event.key in CHOICES:
            self.dismiss(CHOICES[event.key][0])
