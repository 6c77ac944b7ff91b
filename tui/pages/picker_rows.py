"""A list of rows of which one is marked; the rows that fit are painted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from ..keys.marking import moves
from ..keys.screen_keymap import keymap_of

Value = TypeVar("Value")


@dataclass(frozen=True)
class PickRow(Generic[Value]):
    """One line. `value` None: a heading or a note, which cannot be picked."""

    line: Content
    value: Value | None = None


class PickList(Widget, Generic[Value]):
    """Shows rows, and moves the mark by keys and clicks. Its owner passes the keys on."""

    DEFAULT_CSS = """
    PickList { height: 1fr; }
    """

    class Picked(Message):
        """The person clicked on the selected row, or on another one twice."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: Sequence[PickRow[Value]] = ()
        self._at = 0
        self._top = 0

    @property
    def marked(self) -> Value | None:
        """The value of the selected row, or None if there is no row to pick."""
        return self._rows[self._at].value if self._at < len(self._rows) else None

    def set_rows(self, rows: Sequence[PickRow[Value]], keep: Value | None = None) -> None:
        """Show these rows. The mark goes to the row with the value `keep`, else to the first that can be picked."""
        self._rows, self._top = rows, 0
        kept = next((n for n, row in enumerate(rows) if keep is not None and row.value == keep), None)
        self._at = kept if kept is not None else next((n for n, row in enumerate(rows) if row.value is not None), 0)
        self.refresh()

    def press(self, key: str) -> bool:
        """Move the mark, and return whether the key does that."""
        by = moves(keymap_of(self).action_of(key, "list"), len(self._rows))
        if by:
            self._move(by)
        return bool(by)

    def _move(self, by: int) -> None:
        places = [n for n, row in enumerate(self._rows) if row.value is not None]
        if places:
            here = places.index(self._at) if self._at in places else 0
            self._at = places[max(0, min(len(places) - 1, here + by))]
            self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Select the clicked row; a click on the selected row picks it."""
        number = self._top + event.y
        if number >= len(self._rows) or self._rows[number].value is None:
            return
        if number == self._at:
            self.post_message(self.Picked())
        self._at = number
        self.refresh()

    def on_mouse_scroll_down(self, _event: events.MouseScrollDown) -> None:
        """Move the mark down."""
        self._move(1)

    def on_mouse_scroll_up(self, _event: events.MouseScrollUp) -> None:
        """Move the mark up."""
        self._move(-1)

    def render(self) -> Content:
        """Return the rows around the mark."""
        room = max(1, self.size.height)
        self._top = max(0, min(max(self._at - room + 1, self._top), len(self._rows) - room))
        self._top = min(self._top, self._at)
        if self._at and self._rows and self._top == self._at and self._rows[self._at - 1].value is None:
            self._top -= 1
        lines: list[Content] = []
        for number, row in enumerate(self._rows[self._top : self._top + room], self._top):
            mark = ("▸ ", "$needs-you") if number == self._at and row.value is not None else "  "
            lines.append(Content.assemble(mark, row.line).truncate(self.size.width, ellipsis=True))
        return Content("\n").join(lines)
