"""The scroll bar: one column of cells, in which the thumb shows where the visible lines are."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style


class ScrollBar:
    """Place and colours of the thumb. It has no length while all lines are visible."""

    def __init__(self) -> None:
        self._start = self._length = 0
        """Rows of the screen."""
        self._empty, self._thumb = Segment(" "), Segment("▐")

    def move(self, height: int, total: int, above: int | None) -> bool:
        """Put the thumb where it belongs if `above` of `total` lines are above the visible ones; None: the last are.

        Return whether it changed.
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
