"""A dialog that asks what should happen, with an answer for each key."""

from __future__ import annotations

from collections.abc import Mapping

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from .clicks import press_clicked_key
from .close_dialog import ClosesOnce
from .screen_keymap import keymap_of


class ChoiceScreen(ClosesOnce[str], ModalScreen[str]):
    """Returns the chosen answer."""

    DEFAULT_CSS = """
    ChoiceScreen { align: center middle; background: $background; }
    ChoiceScreen Vertical { width: 64; max-width: 96%; height: auto; padding: 1 2; background: $surface; }
    ChoiceScreen Static { height: auto; }
    """

    def __init__(self, question: str, choices: Mapping[str, tuple[str, str]]) -> None:
        """`choices`: by the action, the answer and what it does."""
        super().__init__()
        self._question, self._choices = question, choices

    def compose(self) -> ComposeResult:
        """Lay out the question and its answers."""
        rows = [Content.styled(self._question, "bold $bright"), Content("")]
        rows += keymap_of(self).answers(*((name, about) for name, (_, about) in self._choices.items()))
        with Vertical():
            yield Static(Content("\n").join(rows), markup=False)

    def on_click(self, event: events.Click) -> None:
        """Choose the clicked answer."""
        press_clicked_key(self, event)

    def choose(self, event: events.Key, name: str) -> None:
        """Return the answer of an action, if it has one."""
        if name in self._choices:
            event.stop()
            self.dismiss(self._choices[name][0])
