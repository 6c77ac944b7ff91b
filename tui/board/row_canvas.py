"""Rows of cells on the screen. Only changed rows are sent, and the mouse can select text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from rich.style import Style
from textual.app import App
from textual.geometry import Region
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from ..lines.draw_runs import paint, to_strip
from ..theme.theme import Palette, palette_of

if TYPE_CHECKING:
    from .row_cells import Row


class Canvas(Widget):
    """Show the rows that were set last."""

    DEFAULT_CSS = """
    Canvas { width: 1fr; height: 1fr; }
    """

    def __init__(self) -> None:
        super().__init__(markup=False)
        self.auto_links = False
        self._rows: list[Row] = []
        self._strips: dict[int, Strip] = {}

    @property
    def palette(self) -> Palette:
        """The styles of the current theme."""
        return palette_of(cast("App[Any]", self.app))

    def put_rows(self, rows: Sequence[Row]) -> None:
        """Show these rows from now on."""
        before, self._rows = self._rows, list(rows)
        count = max(len(before), len(rows))
        changed = [y for y in range(count) if y >= len(before) or y >= len(rows) or before[y] != rows[y]]
        for y in changed:
            self._strips.pop(y, None)
        if changed:
            self.refresh(Region(0, changed[0], self.size.width, changed[-1] + 1 - changed[0]))

    def clear_rows(self) -> None:
        """Redraw every row when the canvas is painted next."""
        self._rows = []
        self._strips.clear()

    def render_line(self, y: int) -> Strip:
        """Return a row of the screen."""
        width, base = self.size.width, self.rich_style
        selection = self.text_selection
        span = selection.get_span(y) if selection is not None else None
        if span is None and y in self._strips and self._strips[y].cell_length == width:
            return self._strips[y]
        strip = to_strip(self._rows[y]) if y < len(self._rows) else Strip([])
        strip = strip.adjust_cell_length(width, Style.null())
        if span is not None:
            end = len(strip.text) if span[1] == -1 else span[1]
            strip = paint(strip, [(span[0], end, self.palette.selection)])
        strip = strip.apply_style(base).apply_offsets(0, y)
        if span is None:
            self._strips[y] = strip
        return strip

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the selected text as it is displayed."""
        text = "\n".join("".join(part for part, _ in row).rstrip() for row in self._rows)
        return selection.extract(text), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Redraw while the person drags over text."""
        self._strips.clear()
        self.refresh()

    def notify_style_update(self) -> None:
        """Redraw in the new theme."""
        super().notify_style_update()
        self.clear_rows()
        self.refresh()
