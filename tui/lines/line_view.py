"""Keys, mouse wheel, scroll bar and selection for the lines of a window."""

from __future__ import annotations

from itertools import islice
from typing import ClassVar

from textual import events, on
from textual.binding import BindingType
from textual.selection import Selection

from ..keys.bindings import bindings
from .line_parts import Place, place_of
from .line_window import Window

_MOST_COPIED = 100_000
_WHEEL = 3


_METHODS = {
    "scroll_up": "scroll_up",
    "scroll_down": "scroll_down",
    "scroll_page_up": "page_up",
    "scroll_page_down": "page_down",
    "scroll_start": "scroll_home",
    "scroll_end": "scroll_end",
}
"""By the action: the method that does it."""


class LineView(Window, can_focus=True):
    """A window that the person can scroll and copy from."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("scroll", _METHODS, priority=False),
    ]
    _drags = False

    def moved(self) -> None:
        """Called after the person scrolled; a subclass may override it."""

    def scroll_rows(self, rows: int) -> None:
        """Scroll by this number of rows: positive is down, negative is up."""
        if not self._frame:
            return
        if self._at is None:
            if rows > 0:
                return
            self._at = self._frame[0].place
        if rows < 0:
            self._at = self._stack.climbed(self._at, -rows)
        else:
            places = self._stack.down(self._at)
            for _ in range(rows):
                next(places, None)
            below = next(places, None)
            self._at = below.place if below else self._frame[-1].place
        self._go()

    def action_scroll_up(self) -> None:
        """Scroll one line up."""
        self.scroll_rows(-1)

    def action_scroll_down(self) -> None:
        """Scroll one line down."""
        self.scroll_rows(1)

    def action_page_up(self) -> None:
        """Scroll a page up, with an overlap of two lines."""
        self.scroll_rows(2 - self.size.height)

    def action_page_down(self) -> None:
        """Scroll a page down, with an overlap of two lines."""
        self.scroll_rows(self.size.height - 2)

    def action_scroll_home(self) -> None:
        """Scroll up to the first line."""
        self._at = Place(0)
        self._go()

    def action_scroll_end(self) -> None:
        """Scroll to the last line, and follow the end from then on."""
        self._at = None
        self._go()

    @on(events.MouseScrollUp)
    def _wheel_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_rows(-_WHEEL)

    @on(events.MouseScrollDown)
    def _wheel_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll_rows(_WHEEL)

    @on(events.MouseDown)
    def _press(self, event: events.MouseDown) -> None:
        if event.x >= self.size.width - 1:
            event.stop()
            self.capture_mouse()
            self._drags = True
            self._jump(event.y)

    @on(events.MouseMove)
    def _drag(self, event: events.MouseMove) -> None:
        if self._drags:
            self._jump(event.y)

    @on(events.MouseUp)
    def _release(self) -> None:
        if self._drags:
            self._drags = False
            self.release_mouse()

    def _jump(self, y: int) -> None:
        """Scroll to the position that was pressed in the scroll bar."""
        height = self.size.height
        line = int((self.heights.total - height) * min(1.0, max(0.0, y / max(1, height - 1))))
        self._at = self._stack.place_at(max(0, line))
        self._go()

    def _go(self) -> None:
        self.repaint()
        self.moved()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the selected text as it is displayed, without the margin."""
        if selection.start is None and selection.end is None:
            return None
        first = place_of(selection.start.y) if selection.start is not None else Place(0)
        last = place_of(selection.end.y) if selection.end is not None else Place(len(self.heights))
        rows: list[str] = []
        for line in islice(self._stack.down(first), _MOST_COPIED):
            if line.place > last:
                break
            text = line.strip.text[self.margin :]
            start = selection.start.x if selection.start is not None and line.place == first else 0
            end = selection.end.x if selection.end is not None and line.place == last else len(text)
            rows.append(text[start:end].rstrip())
        return "\n".join(rows), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Redraw while the person drags over text."""
        self.refresh()
