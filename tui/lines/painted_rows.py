"""Cache rows in the form in which they are sent to the screen.

A row that only moved stays the same object, so what textual derived from it (filtered, cut, as escape codes) is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

if TYPE_CHECKING:
    from .line_parts import Line, Place

_KEPT = 300
"""Number of rows to keep; each takes some kilobytes."""


@dataclass(slots=True)
class _Painted:
    drawn: Strip
    """As the item drew it."""
    row: Strip
    """As wide as the window, with its colours."""
    signed: dict[Segment, Strip] = field(default_factory=dict[Segment, Strip])
    """The row with a cell of the scroll bar at its end, by that cell."""


class PaintedRows:
    """Cache of the newest rows of a window."""

    def __init__(self) -> None:
        self._rows: dict[Place, _Painted] = {}

    def clear(self) -> None:
        """Remove all rows, because the width or the colours changed."""
        self._rows.clear()

    def row(self, line: Line, width: int, base: Style) -> Strip:
        """Return the line as a row without the scroll bar."""
        kept = self._rows.get(line.place)
        if kept is not None and kept.drawn is line.strip:
            return kept.row
        row = line.strip.adjust_cell_length(width, base).apply_style(base)
        if len(self._rows) > _KEPT:
            self._rows.clear()
        self._rows[line.place] = _Painted(line.strip, row)
        return row

    def signed(self, place: Place, row: Strip, sign: Segment, width: int) -> Strip:
        """Return the row with a cell of the scroll bar. A row that `row` returned always gives the same object."""
        kept = self._rows.get(place)
        if kept is None or kept.row is not row:
            return with_sign(row, sign, width)
        found = kept.signed.get(sign)
        if found is None:
            found = kept.signed[sign] = with_sign(row, sign, width)
        return found


def with_sign(row: Strip, sign: Segment, width: int) -> Strip:
    """Return a row followed by a cell of the scroll bar."""
    return Strip([*row, sign], width)
