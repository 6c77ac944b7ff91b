"""A dialog with a line to type into, a list, and the keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from ..keys.clicks import press_clicked_key
from ..keys.close_dialog import ClosesOnce
from ..keys.screen_keymap import keymap_of
from ..text.show_text import one_line
from .picker_rows import PickList, PickRow

Value = TypeVar("Value")
_WIDEST = 110
"""Width of a dialog, with 2 cells at each edge."""


class FilterLine(Input):
    """The line that filters. Keys of the list go to the dialog, all others are typed."""

    DEFAULT_CSS = """
    FilterLine, FilterLine:focus { height: 1; border: none; padding: 0; background: transparent; }
    """


class Picker(ClosesOnce[Value | None], ModalScreen[Value | None], Generic[Value]):
    """Lets the person pick a value. A subclass returns the rows for a filter, and what a key does."""

    DEFAULT_CSS = """
    Picker { align: center middle; background: $background; }
    Picker > Vertical { width: 110; max-width: 100%; height: 32; max-height: 100%; padding: 1 2; background: $surface; }
    Picker #title { height: 1; }
    Picker #about { height: auto; max-height: 6; color: $dim; margin: 1 0 0 0; }
    Picker #keys { height: 1; margin: 1 0 0 0; }
    Picker PickList { margin: 1 0 0 0; }
    """

    title_text = ""
    hint = ""
    app_leaves = False
    """The key that leaves goes to the app, which closes the dialog and counts it as the first of two."""

    def __init__(self) -> None:
        super().__init__()
        self.filter = FilterLine(placeholder=self.hint)
        self.list: PickList[Value] = PickList()
        self._about = Static("", id="about", markup=False)
        self._keys = Static("", id="keys", markup=False)

    def compose(self) -> ComposeResult:
        """Return title, line, list, what is known about the selected row, and keys."""
        with Vertical():
            yield Static(Content.styled(self.title_text, "bold $bright"), id="title", markup=False)
            yield self.filter
            yield self.list
            yield self._about
            yield self._keys

    def on_mount(self) -> None:
        """Show all rows."""
        self.filter.focus()
        self.draw()

    def rows(self, wanted: str) -> Sequence[PickRow[Value]]:
        """Return the rows for the text of the line."""
        raise NotImplementedError

    def about(self, marked: Value | None) -> Content:
        """Return a few lines about the selected row."""
        del marked
        return Content("")

    def keys(self) -> Sequence[tuple[str, str]]:
        """Return the actions to show, as `mark_up mark_down`, each with what it does."""
        return ()

    def pick(self) -> None:
        """Close the picker with the selected row as its result."""
        self.dismiss(self.list.marked)

    def press(self, key: str) -> bool:
        """Handle a key that neither the list nor the dialog uses, and return whether it is used."""
        del key
        return False

    def draw(self, keep: Value | None = None) -> None:
        """Show the rows for the text of the line."""
        self.list.set_rows(self.rows(self.filter.value.strip()), keep)
        self._draw_about()

    def say(self, text: str) -> None:
        """Show a line below the list until the mark moves."""
        self._about.update(Content.styled(one_line(text), "$verdict-partly"))

    def _draw_about(self) -> None:
        self._about.update(self.about(self.list.marked))
        self._keys.update(keymap_of(self).foot(*self.keys(), width=min(_WIDEST, self.size.width) - 4))

    def on_click(self, event: events.Click) -> None:
        """Press the clicked key."""
        press_clicked_key(self, event)

    def on_resize(self) -> None:
        """Fit the lines."""
        self.draw(self.list.marked)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter the rows by the typed text."""
        event.stop()
        self.draw()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter takes the selected row."""
        event.stop()
        self.pick()

    def on_pick_list_picked(self) -> None:
        """A click takes the selected row."""
        self.pick()

    def on_key(self, event: events.Key) -> None:
        """Move the mark, or close."""
        keymap = keymap_of(self)
        if self.app_leaves and keymap.action_of(event.key, "main") == "copy_or_leave":
            return
        if keymap.closes(event.key):
            self.dismiss(None)
        elif self.list.press(event.key):
            self._draw_about()
        elif keymap.action_of(event.key, "list") == "take":
            self.pick()
        elif not self.press(event.key):
            return
        event.stop()
        event.prevent_default()
