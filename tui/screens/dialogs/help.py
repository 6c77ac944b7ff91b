"""Show all keys and commands."""

from __future__ import annotations

from collections.abc import Mapping

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from ...actions import ACTIONS, Action, shown_key

_PLACES = (
    ("main", "Anywhere"),
    ("message", "In the message box"),
    ("gate", "At the gate"),
    ("board", "On the board of a search (F2 opens it, esc returns)"),
)
_BESIDES = {
    "message": (
        ("⏎", "send after the running step"),
        ("↑ ↓", "earlier messages; the queued one first"),
        ("esc esc", "in an empty box: rewind to a message, with the files"),
        ("/", "enter a command"),
        ("@", "add a file of the workspace, or attach an image"),
        ("!", "run a command; `!!` hides it from the model"),
        ("^c", "copy the selection; press twice to leave"),
    ),
    "gate": (("↑ ↓", "scroll; also PgUp PgDn Home End"), ("^s", "keep the edited text; esc discards it")),
    "board": (
        ("1-6", "views: findings, lenses, queue, failed, duplicates"),
        ("↑ ↓", "select a row; also j k g G PgUp PgDn Home End"),
    ),
    "main": (),
}


class HelpScreen(ModalScreen[None]):
    """Screen with all keys and commands; Esc closes it."""

    DEFAULT_CSS = """
    HelpScreen { align: center middle; background: $background 60%; }
    HelpScreen VerticalScroll {
        width: 84; max-width: 98%; height: auto; max-height: 96%; padding: 1 1; background: $surface;
        scrollbar-size-vertical: 1;
    }
    HelpScreen Static { height: auto; }
    """
    BINDINGS = [Binding("escape,q,f1,question_mark", "dismiss", "Close")]

    def __init__(self, keymap: Mapping[str, str]) -> None:
        super().__init__()
        self._keymap = keymap

    def compose(self) -> ComposeResult:
        """Yield one section for each part of the screen."""
        rows: list[Content] = []
        for place, title in _PLACES:
            rows += (
                [Content(""), Content.styled(title, "bold $bright")]
                if rows
                else [Content.styled(title, "bold $bright")]
            )
            rows += [_row(key, "", about) for key, about in _BESIDES[place]]
            rows += [self._action(action) for action in ACTIONS if action.where == place]
        with VerticalScroll():
            yield Static(Content("\n").join(rows), markup=False)

    def _action(self, action: Action) -> Content:
        keys = self._keymap.get(action.name, action.keys)
        slash = f"/{action.slash} {action.takes}".strip() if action.typed else ""
        about = f"{action.label}: {action.detail}" if action.detail else action.label
        return _row(shown_key(keys) if keys else "", slash, about)


def _row(key: str, slash: str, about: str) -> Content:
    return Content.assemble((key.rjust(4), "bold $needs-you"), f"  {about:<51}", (slash, "$dim"))
