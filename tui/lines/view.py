"""The widget: it keeps its own place among the lines, so that growing and scrolling need no layout.

A layout and a scroll at each flush of a stream make a key wait 57 to 67 ms; repainting the rows that changed, 15 to 32.
"""

from __future__ import annotations

from itertools import islice
from typing import ClassVar, cast

from rich.segment import Segment
from rich.style import Style
from textual import events, on
from textual.app import App
from textual.binding import Binding, BindingType
from textual.geometry import Offset, Region
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from ..text import show
from ..theme import Palette, palette_of
from .draw import paint
from .heights import Heights
from .parts import Line, Part, Place
from .stack import Stack

_MOST_COPIED = 100_000
_WHEEL = 3
_KEPT_ROWS = 2_000
_ROW_BITS, _PART_BITS = 20, 20


class LineView(Widget, can_focus=True):
    """Items, one below the other. A subclass says how many there are, what they look like, and when they change."""

    DEFAULT_CSS = """
    LineView { width: 1fr; height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "scroll_up", "up", show=False),
        Binding("down", "scroll_down", "down", show=False),
        Binding("pageup", "page_up", "page up", show=False),
        Binding("pagedown", "page_down", "page down", show=False),
        Binding("home", "scroll_home", "top", show=False),
        Binding("end", "scroll_end", "end", show=False),
    ]
    margin: int = 0
    """Cells on the left that belong to no text: they are not selected and not searched."""
    keeps_end: bool = False
    """At the end it stays at the end when lines are added."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes, markup=False)
        self.auto_links = False
        self._stack = Stack(self.build)
        self._at: Place | None = None if self.keeps_end else Place(0)
        self._frame: list[Line] = []
        self._thumb = (0, 0)
        self._drawn_for: tuple[int, int] = (0, 0)
        self._drags = False
        self._palette: Palette | None = None
        self._base = Style.null()
        self._signs = (Segment(" "), Segment("▐"))
        """Of the scroll bar: nothing there, and its thumb."""
        self._paints = False
        self._rows: dict[Place, tuple[Strip, Strip]] = {}

    # what a subclass says

    def build(self, item: int) -> list[Part]:
        """The parts of an item, for the present width."""
        raise NotImplementedError

    def matches(self, line: Line) -> list[tuple[int, int, Style]]:
        """What of a line's text is to be highlighted: start, end (characters, without the margin) and style."""
        return []

    def overlay(self, y: int, strip: Strip) -> Strip:
        """A last word on a row of the screen."""
        return strip

    def painted(self) -> None:
        """What is in sight was looked at again; it may have changed."""

    # what a subclass calls

    @property
    def palette(self) -> Palette:
        """The styles of the theme of now."""
        if self._palette is None:
            self._palette = palette_of(self._owner)
        return self._palette

    @property
    def _owner(self) -> App[object]:
        return cast("App[object]", self.app)

    def copy(self, text: str) -> None:
        """To the person's clipboard, by OSC 52: the terminal may refuse it without a word."""
        self._owner.copy_to_clipboard(show(text))

    @property
    def ground(self) -> Style:
        """What is below everything: the widget's own colours."""
        return self._base

    @property
    def text_width(self) -> int:
        """Cells of a row, margin included, scroll bar not."""
        return max(20, self.size.width - 1)

    @property
    def at_end(self) -> bool:
        """The last line is in sight and stays so."""
        return self._at is None

    @property
    def lines(self) -> list[Line]:
        """What is in sight, from the top."""
        return self._frame

    @property
    def heights(self) -> Heights:
        """Lines of each item; a guess for what was never drawn."""
        return self._stack.heights

    def parts(self, item: int) -> list[Part]:
        """The parts of an item."""
        return self._stack.parts(item)

    def forget(self, start: int) -> None:
        """Items from `start` on look different now."""
        self._stack.forget(start)

    def redraw(self, item: int) -> None:
        """One item looks different now."""
        self._stack.redraw(item)

    def go_to(self, place: Place, above: int = 0) -> None:
        """Show this line with so many lines above it."""
        self._at = self._stack.climbed(place, above)
        self.repaint()

    def scroll_rows(self, rows: int) -> None:
        """Down for a positive number, up for a negative one."""
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
        self.repaint()

    def repaint(self) -> None:
        """Draw what is in sight and send the rows that changed to the screen."""
        if not self.is_mounted or self.size.height < 1:
            return
        before, self._frame = self._frame, self._lines_in_sight()
        self._stack.seen({line.place.item for line in self._frame})
        thumb = self._where()
        width, height = self.size
        if thumb != self._thumb:
            self._thumb = thumb
            self.refresh(Region(width - 1, 0, 1, height))
        changed = [
            y
            for y in range(max(len(before), len(self._frame)))
            if y >= len(before) or y >= len(self._frame) or before[y] != self._frame[y]
        ]
        self.painted()
        if changed:
            self.refresh(Region(0, changed[0], width, min(height, changed[-1] + 1) - changed[0]))

    def refresh_row(self, y: int) -> None:
        """A row of the screen looks different now."""
        self.refresh(Region(0, y, self.size.width, 1))

    def item_text(self, item: int) -> str:
        """An item's lines as they look."""
        return "\n".join(strip.text[self.margin :].rstrip() for part in self.parts(item) for strip in part.rows)

    # keys, wheel, scroll bar

    def action_scroll_up(self) -> None:
        """A line up."""
        self.scroll_rows(-1)

    def action_scroll_down(self) -> None:
        """A line down."""
        self.scroll_rows(1)

    def action_page_up(self) -> None:
        """A page up, two lines of it seen before."""
        self.scroll_rows(2 - self.size.height)

    def action_page_down(self) -> None:
        """A page down, two lines of it seen before."""
        self.scroll_rows(self.size.height - 2)

    def action_scroll_home(self) -> None:
        """To the first line."""
        self._at = Place(0)
        self.repaint()

    def action_scroll_end(self) -> None:
        """To the last line, and stay there."""
        self._at = None
        self.repaint()

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

    @on(events.Resize)
    def _fit(self) -> None:
        shape = (self.size.width, self.size.height)
        if shape[0] != self._drawn_for[0]:
            self.forget(0)
            if self._at is not None:
                self._at = Place(self._at.item)
        self._drawn_for = shape
        self._frame = []
        self._rows.clear()
        self._restyle()
        self.repaint()
        self.refresh()

    def notify_style_update(self) -> None:
        """Another theme: everything is drawn again."""
        super().notify_style_update()
        self.call_later(self._restyle)

    def text_select_all(self) -> None:
        """A double click selects no 100,000 lines."""

    # textual's side

    def render_line(self, y: int) -> Strip:
        """A row of the screen."""
        width = self._drawn_for[0]
        row = self._row(y, max(0, width - 1))
        if not self._paints and y < len(self._frame):
            row = self._with_offsets(row, self._frame[y].place)
        strip = self.overlay(y, row)
        start, length = self._thumb
        sign = self._signs[1] if start <= y < start + length else self._signs[0]
        return Strip([*strip, sign], width)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Rows for the screen: without the offsets that only the mouse asks for, each a style of its own."""
        self._paints = True
        try:
            return super().render_lines(crop)
        finally:
            self._paints = False

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text as it looks, without the margin."""
        if selection.start is None and selection.end is None:
            return None
        first = _place(selection.start) if selection.start is not None else Place(0)
        last = _place(selection.end) if selection.end is not None else Place(len(self.heights))
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
        """The person drags over text."""
        self.refresh()

    # the inside

    def _restyle(self) -> None:
        if not self.is_attached:
            return
        palette, base = palette_of(self._owner), self.rich_style
        if palette is self._palette and base == self._base:
            return
        if palette is not self._palette:
            self._palette = palette
            self.forget(0)
        self._base = base
        self._signs = (Segment(" ", base), Segment("▐", base + palette.thumb))
        self._rows.clear()
        self._frame = []
        self.repaint()
        self.refresh()

    def _row(self, y: int, width: int) -> Strip:
        """A row without the scroll bar; kept, for it often just moves."""
        if y >= len(self._frame):
            return Strip.blank(width, self._base)
        line = self._frame[y]
        number = _number(line.place)
        spans = self.matches(line)
        selection = self.text_selection
        span = selection.get_span(number) if selection is not None else None
        if span is None and not spans:
            kept = self._rows.get(line.place)
            if kept is not None and kept[0] is line.strip:
                return kept[1]
        strip = line.strip
        if span is not None:
            start, end = span
            spans = [*spans, (start, len(strip.text) if end == -1 else end, self.palette.selection)]
        if spans:
            strip = Strip.join([strip.crop(0, self.margin), paint(strip.crop(self.margin), spans)])
        row = strip.adjust_cell_length(width, self._base).apply_style(self._base)
        if not spans:
            if len(self._rows) > _KEPT_ROWS:
                self._rows.clear()
            self._rows[line.place] = (line.strip, row)
        return row

    def _with_offsets(self, row: Strip, place: Place) -> Strip:
        return Strip.join([row.crop(0, self.margin), row.crop(self.margin).apply_offsets(0, _number(place))])

    def _lines_in_sight(self) -> list[Line]:
        height = self.size.height
        if self._at is None:
            return self._stack.last(height)
        found = list(islice(self._stack.down(self._at), height + 1))
        if len(found) > height:
            return found[:height]
        found = self._stack.last(height)
        self._at = None if self.keeps_end else (found[0].place if found else Place(0))
        return found

    def _where(self) -> tuple[int, int]:
        """First row and length of the scroll bar's thumb; no length where all is in sight."""
        height = self.size.height
        total = self.heights.total
        if total <= height or not self._frame:
            return 0, 0
        length = max(1, height * height // total)
        if self._at is None:
            return height - length, length
        top = self._stack.lines_above(self._at)
        return min(height - length, round((height - length) * top / max(1, total - height))), length

    def _jump(self, y: int) -> None:
        """Go where the scroll bar was pressed."""
        height = self.size.height
        line = int((self.heights.total - height) * min(1.0, max(0.0, y / max(1, height - 1))))
        self._at = self._stack.place_at(max(0, line))
        self.repaint()


def _number(place: Place) -> int:
    """A place as the row number that textual's selection counts with: in the order of places."""
    return (place.item << _PART_BITS | place.part) << _ROW_BITS | place.row


def _place(offset: Offset) -> Place:
    row = offset.y & (1 << _ROW_BITS) - 1
    rest = offset.y >> _ROW_BITS
    return Place(rest >> _PART_BITS, rest & (1 << _PART_BITS) - 1, row)
