"""The widget: it keeps its own place among the lines, so that growing and scrolling need no layout.

A layout and a scroll at each flush of a stream make a key wait 57 to 67 ms; repainting the rows that changed, 15 to 32.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import ClassVar, cast

from rich.segment import Segment
from rich.style import Style
from textual import events, on
from textual.app import App
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from ..text import show
from ..theme import Palette, palette_of
from .draw import paint
from .heights import Heights
from .painted import PaintedRows, with_sign
from .parts import Line, Part, Place, number_of
from .stack import Stack


class Window(Widget):
    """Items, one below the other. A subclass says how many there are, what they look like, and when they change."""

    DEFAULT_CSS = """
    Window { width: 1fr; height: 1fr; }
    """
    margin: int = 0
    """Cells on the left that belong to no text: they are not selected and not searched."""
    stack: ClassVar[type[Stack]] = Stack
    keeps_end: bool = False
    """At the end it stays at the end when lines are added."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes, markup=False)
        self.auto_links = False
        self._stack = self.stack(self.build)
        self._at: Place | None = None if self.keeps_end else Place(0)
        self._frame: list[Line] = []
        self._thumb = (0, 0)
        self._drawn_for: tuple[int, int] = (0, 0)
        self._palette: Palette | None = None
        self._base = Style.null()
        self._signs = (Segment(" "), Segment("▐"))
        """Of the scroll bar: nothing there, and its thumb."""
        self._rows = PaintedRows()

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

    def reshaped(self) -> None:
        """The size is another one; nothing was drawn for it yet."""

    # what a subclass calls

    @property
    def palette(self) -> Palette:
        """The styles of the theme of now."""
        if self._palette is None:
            self._palette = palette_of(self.owner)
        return self._palette

    @property
    def owner(self) -> App[object]:
        """The app."""
        return cast("App[object]", self.app)

    def copy(self, text: str) -> None:
        """To the person's clipboard, by OSC 52: the terminal may refuse it without a word."""
        self.owner.copy_to_clipboard(show(text))

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

    def lines_above(self, place: Place) -> int:
        """Lines above a place, as far as they are known."""
        return self._stack.lines_above(place)

    def forget(self, start: int) -> None:
        """Items from `start` on look different now."""
        self._stack.forget(start)

    def redraw(self, item: int) -> None:
        """One item looks different now."""
        self._stack.redraw(item)

    def insert_items(self, index: int, heights: Sequence[int]) -> None:
        """More items from `index` on; what is in sight stays where it is, unless they come right there."""
        self.heights.insert(index, heights)
        self.forget(index)
        if self._at is not None and self._at.item >= index:
            self._at = Place(self._at.item + len(heights), self._at.part, self._at.row)
        self.repaint()

    def remove_items(self, index: int, count: int) -> None:
        """So many items less from `index` on; what is in sight stays where it is, unless it goes."""
        self.heights.remove(index, count)
        self.forget(index)
        if self._at is not None and self._at.item >= index + count:
            self._at = Place(self._at.item - count, self._at.part, self._at.row)
        elif self._at is not None and self._at.item >= index:
            self._at = Place(max(0, index - 1))
        self.repaint()

    def go_to(self, place: Place, above: int = 0) -> None:
        """Show this line with so many lines above it."""
        self._at = self._stack.climbed(place, above)
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

    @on(events.Resize)
    def _fit(self) -> None:
        shape = (self.size.width, self.size.height)
        if shape[0] != self._drawn_for[0]:
            self.forget(0)
            if self._at is not None:
                self._at = Place(self._at.item)
        self._drawn_for = shape
        self.reshaped()
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
        if y < len(self._frame):
            row = self._with_offsets(row, self._frame[y].place)
        return with_sign(self.overlay(y, row), self._sign(y), width)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Rows for the screen, without the offsets that only the mouse asks for.

        Textual's own cache knows rows by their number on the screen, and draws all of them again when they move up.
        """
        width = self._drawn_for[0]
        if width != self.size.width or self.styles.gutter or self.opacity != 1.0:
            return super().render_lines(crop)
        filters, background = self.get_line_filters(), self.background_colors[1]
        strips: list[Strip] = []
        for y in crop.line_range:
            strip = self._painted_row(y, width)
            for one in filters:
                strip = strip.apply_filter(one, background)
            strips.append(strip)
        if crop.column_span != (0, width):
            strips = [strip.crop(crop.x, crop.right) for strip in strips]
        return strips

    def _painted_row(self, y: int, width: int) -> Strip:
        row = self._row(y, max(0, width - 1))
        strip = self.overlay(y, row)
        if strip is not row or y >= len(self._frame):
            return with_sign(strip, self._sign(y), width)
        return self._rows.signed(self._frame[y].place, row, self._sign(y), width)

    def _sign(self, y: int) -> Segment:
        start, length = self._thumb
        return self._signs[1] if start <= y < start + length else self._signs[0]

    # the inside

    def _restyle(self) -> None:
        if not self.is_attached:
            return
        palette, base = palette_of(self.owner), self.rich_style
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
        number = number_of(line.place)
        spans = self.matches(line)
        selection = self.text_selection
        span = selection.get_span(number) if selection is not None else None
        if span is None and not spans:
            return self._rows.row(line, width, self._base)
        strip = line.strip
        if span is not None:
            start, end = span
            spans = [*spans, (start, len(strip.text) if end == -1 else end, self.palette.selection)]
        strip = Strip.join([strip.crop(0, self.margin), paint(strip.crop(self.margin), spans)])
        return strip.adjust_cell_length(width, self._base).apply_style(self._base)

    def _with_offsets(self, row: Strip, place: Place) -> Strip:
        return Strip.join([row.crop(0, self.margin), row.crop(self.margin).apply_offsets(0, number_of(place))])

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
        top = self.lines_above(self._at)
        return min(height - length, round((height - length) * top / max(1, total - height))), length
