"""The first rows of the board: the plot of discoveries, and the summary next to it or below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lines.draw import width_of
from .cells import Row, beside, blank, left, since
from .plot import plot, sparkline
from .summary import summary

if TYPE_CHECKING:
    from ..board_data import BoardData

_LEAST = 16
"""Height of the board from which the plot has an axis."""
_GAP = 3
_WIDEST = 90
"""Width of the widest plot in cells."""


def top(data: BoardData, width: int, height: int, *, is_wide: bool) -> list[Row]:
    """Return the plot and the summary for a board of this size, without the blank row below."""
    if height < _LEAST:
        return [_line(data, width), *_fitting(data, width, 1 if height < 12 else 2)]
    if not is_wide:
        rows = 2 if height < 22 else 3
        return [*_plot(data, width, rows), *_fitting(data, width, 3 if height < 22 else 5)]
    half = min(_WIDEST, max(44, width * 2 // 5))
    drawn = _plot(data, half, 4 if height < 36 else 6)
    room = width - half - _GAP
    told = [left(row, room) for row in summary(data, room)[: len(drawn)]]
    return beside(drawn, told, half, _GAP)


def _fitting(data: BoardData, width: int, count: int) -> list[Row]:
    """Return the rows that matter most where not all fit: the estimate and the dry state before the coverage."""
    told = summary(data, width)
    if len(told) > count and data.by_lenses:
        told = [told[0], *told[2:], told[1]]
    return [left(row, width) for row in told[:count]]


def _points(data: BoardData) -> tuple[str, list[int], str, str]:
    """Return the label of the plot, its counts, and the labels of its first and its last bar."""
    if not data.by_lenses:
        bars = data.state.progress.surfaced
        label = "new a second" if bars.seconds == 1 else f"new in {since(bars.seconds)}"
        return label, list(bars.counts), "0s", since(len(bars.counts) * bars.seconds)
    facts = data.facts
    points = [*facts.points]
    if facts.pass_open and facts.pass_new and facts.stretch == 1:
        points.append(facts.pass_new)
    label = "new per pass" if facts.stretch == 1 else f"new in {facts.stretch} passes"
    return label, points, "pass 1", str(max(1, len(points) * facts.stretch))


def _line(data: BoardData, width: int) -> Row:
    """Return the plot in one row."""
    palette = data.palette
    label, points, _, _ = _points(data)
    named: Row = [(f"{label}  ", palette.dim)]
    if not any(points):
        return [*named, ("nothing yet", palette.faint)]
    return [*named, (sparkline(points, max(1, width - width_of(named))), palette.meter_ok)]


def _plot(data: BoardData, width: int, height: int) -> list[Row]:
    palette = data.palette
    label, points, first, last = _points(data)
    size = len(label) + 2
    drawn = plot(points, width - size, height, first, last)
    rows: list[Row] = []
    for y, (tick, bars) in enumerate(drawn.rows):
        name = label if y == 0 else ""
        empty = "nothing yet" if not any(points) and y == height // 2 else ""
        rows.append(
            [
                (name.ljust(size), palette.dim),
                (tick, palette.faint),
                (empty, palette.faint) if empty else (bars, palette.meter_ok),
            ]
        )
    return [*rows, [blank(size), (drawn.axis, palette.faint)]]
