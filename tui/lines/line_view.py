"""A widget for very many lines. It keeps its own scroll position, so that growing and scrolling need no layout.

With a layout and a scroll for each flush of a stream, a key waits 57 to 67 ms; if only the changed rows are repainted,
15 to 32 ms.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, ClassVar, cast

from rich.segment import Segment
from rich.style import Style
from textual import events, on
from textual.app import App
from textual.binding import BindingType
from textual.geometry import Region
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from ..keys.bindings import bindings
from ..text.show_text import show
from ..theme.theme import Palette, palette_of
from .draw_runs import paint
from .item_stack import Stack
from .line_parts import Line, Part, Place, number_of, place_of
from .painted_rows import PaintedRows, with_sign

if TYPE_CHECKING:
    from .item_heights import Heights

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


class LineView(Widget, can_focus=True):
    """Items, one below the other, that the person can scroll and copy from.

    A subclass builds their parts, counts them, and reports when they change.
    """

    DEFAULT_CSS = """
    LineView { width: 1fr; height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("scroll", _METHODS, priority=False),
    ]
    margin: int = 0
    """Cells on the left that are not part of the text: they are neither selected nor searched."""
    stack: ClassVar[type[Stack]] = Stack
    keeps_end: bool = False
    """Whether it follows the end: if the last line is visible, it stays visible when lines are added."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes, markup=False)
        self.auto_links = False
        self._stack = self.stack(self.build)
        self._at: Place | None = None if self.keeps_end else Place(0)
        self._frame: list[Line] = []
        self._scroll_bar = _ScrollBar()
        self._drawn_for: tuple[int, int] = (0, 0)
        self._palette: Palette | None = None
        self._base = Style.null()
        self._rows = PaintedRows()
        self._drags = False

    # methods that a subclass overrides

    def build(self, item: int) -> list[Part]:
        """Return the parts of an item, for the present width."""
        raise NotImplementedError

    def matches(self, line: Line) -> list[tuple[int, int, Style]]:
        """Return the matches to highlight in a line: start and end in characters, without the margin, and style."""
        return []

    def overlay(self, y: int, strip: Strip) -> Strip:
        """Return the row of the screen with something drawn over it."""
        return strip

    def painted(self) -> None:
        """Called after the visible lines were computed again; they may have changed."""

    def reshaped(self) -> None:
        """Called after the size changed, before anything is drawn for it."""

    def moved(self) -> None:
        """Called after the person scrolled; a subclass may override it."""

    # methods that a subclass calls

    @property
    def palette(self) -> Palette:
        """The styles of the current theme, read again after the theme changes."""
        if self._palette is None:
            self._palette = palette_of(self.owner)
        return self._palette

    @property
    def owner(self) -> App[object]:
        """The app, with the type that `copy_to_clipboard` and the palette need."""
        return cast("App[object]", self.app)

    def copy(self, text: str) -> None:
        """Copy to the user's clipboard by OSC 52. The terminal may ignore it without an error."""
        self.owner.copy_to_clipboard(show(text))

    @property
    def ground(self) -> Style:
        """The colours of the widget itself, which are drawn below everything else."""
        return self._base

    @property
    def text_width(self) -> int:
        """The width of a row in cells, with the margin and without the scroll bar."""
        return max(20, self.size.width - 1)

    @property
    def at_end(self) -> bool:
        """Whether the last line is visible and stays visible."""
        return self._at is None

    @property
    def lines(self) -> list[Line]:
        """The visible lines, from the top."""
        return self._frame

    @property
    def heights(self) -> Heights:
        """The number of lines of each item; a guess for those that were never drawn."""
        return self._stack.heights

    def parts(self, item: int) -> list[Part]:
        """Return the parts of an item."""
        return self._stack.parts(item)

    def lines_above(self, place: Place) -> int:
        """Return the number of lines above a place, as far as they are known."""
        return self._stack.lines_above(place)

    def forget(self, start: int) -> None:
        """Build the items from `start` on again when they are visible."""
        self._stack.forget(start)

    def redraw(self, item: int) -> None:
        """Build this item again when it is visible."""
        self._stack.redraw(item)

    def replace_items(self, heights: Sequence[int], *, margin: int) -> None:
        """Replace all items; `heights` are their lines, or guesses."""
        self.margin = margin
        self.heights.cut(0)
        self.heights.extend(heights)
        self.forget(0)

    def insert_items(self, index: int, heights: Sequence[int]) -> None:
        """Insert items at `index`. The visible lines stay where they are, unless the items come between them."""
        self.heights.insert(index, heights)
        self.forget(index)
        if self._at is not None and self._at.item >= index:
            self._at = Place(self._at.item + len(heights), self._at.part, self._at.row)
        self.repaint()

    def remove_items(self, index: int, count: int) -> None:
        """Remove `count` items from `index` on. The visible lines stay where they are, unless they are removed."""
        self.heights.remove(index, count)
        self.forget(index)
        if self._at is not None and self._at.item >= index + count:
            self._at = Place(self._at.item - count, self._at.part, self._at.row)
        elif self._at is not None and self._at.item >= index:
            self._at = Place(max(0, index - 1))
        self.repaint()

    def go_to(self, place: Place, above: int = 0) -> None:
        """Scroll so that this line is visible, with `above` lines above it."""
        self._at = self._stack.climbed(place, above)
        self.repaint()

    def repaint(self) -> None:
        """Draw the visible lines and send the rows that changed to the screen."""
        if not self.is_mounted or self.size.height < 1:
            return
        before, self._frame = self._frame, self._lines_in_sight()
        self._stack.seen({line.place.item for line in self._frame})
        width, height = self.size
        total = self.heights.total if self._frame else 0
        above = self.lines_above(self._at) if self._at is not None and total > height else None
        if self._scroll_bar.move(height, total, above):
            self.refresh(Region(width - 1, 0, 1, height))
        changed = [y for y, (old, new) in enumerate(zip_longest(before, self._frame)) if old != new]
        self.painted()
        if changed:
            self.refresh(Region(0, changed[0], width, min(height, changed[-1] + 1) - changed[0]))

    def redraw_visible(self) -> None:
        """Draw the visible items again."""
        for item in {line.place.item for line in self.lines}:
            self.redraw(item)
        self.repaint()

    def refresh_row(self, y: int) -> None:
        """Draw a row of the screen again."""
        self.refresh(Region(0, y, self.size.width, 1))

    def item_text(self, item: int) -> str:
        """Return the lines of an item as they are drawn."""
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
        """Draw everything again after the theme changed."""
        super().notify_style_update()
        self.call_later(self._restyle)

    # keys, mouse wheel and scroll bar

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

    # the selection

    def text_select_all(self) -> None:
        """Select nothing: a double click would select up to 100,000 lines."""

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

    # methods that textual calls

    def render_line(self, y: int) -> Strip:
        """Return a row of the screen."""
        width = self._drawn_for[0]
        row = self._row(y, max(0, width - 1))
        if y < len(self._frame):
            row = self._with_offsets(row, self._frame[y].place)
        return with_sign(self.overlay(y, row), self._scroll_bar.cell(y), width)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return rows for the screen, without the offsets that only the mouse needs.

        Textual's own cache identifies a row by its number on the screen, so a scroll would draw all rows again.
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
            return with_sign(strip, self._scroll_bar.cell(y), width)
        return self._rows.signed(self._frame[y].place, row, self._scroll_bar.cell(y), width)

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
        self._scroll_bar.restyle(base, palette.thumb)
        self._rows.clear()
        self._frame = []
        self.repaint()
        self.refresh()

    def _row(self, y: int, width: int) -> Strip:
        """Return a row without the scroll bar. It is cached, because most rows only move."""
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


class _ScrollBar:
    """Place and colours of the thumb of the scroll bar. It has no length while all lines are visible."""

    def __init__(self) -> None:
        self._start = self._length = 0
        """Rows of the screen."""
        self._empty, self._thumb = Segment(" "), Segment("▐")

    def move(self, height: int, total: int, above: int | None) -> bool:
        """Put the thumb where it belongs if `above` of `total` lines are above the visible ones.

        With None, the last line is visible. Return whether it changed.
        """
        before = self._start, self._length
        self._length = max(1, height * height // total) if total > height else 0
        self._start = height - self._length if self._length else 0
        if self._length and above is not None:
            self._start = min(self._start, round(self._start * above / max(1, total - height)))
        return before != (self._start, self._length)

    def restyle(self, base: Style, thumb: Style) -> None:
        """Use these colours for the background and for the thumb."""
        self._empty, self._thumb = Segment(" ", base), Segment("▐", base + thumb)

    def cell(self, y: int) -> Segment:
        """Return the cell in this row of the screen."""
        return self._thumb if self._start <= y < self._start + self._length else self._empty
