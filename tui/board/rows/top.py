"""The first rows of the board: the plot of discoveries and the counts."""

from __future__ import annotations

from rundry.agent import short

from ...lines.draw import width_of
from ..look import Look
from .cells import Row, apart, blank, grouped, left
from .plot import chart, highest, sparkline

_LABEL = "new a pass   "


def counts(look: Look, width: int) -> Row:
    """`frontier 38    seen 1 204 …`: each in a field of its own, so that none moves another."""
    facts, palette = look.facts, look.palette
    fields = [
        ("frontier", facts.queued, 6),
        ("seen", facts.seen, 6),
        *([] if look.by_lenses else [("done", facts.done, 6)]),
        ("duplicates", facts.duplicates, 7),
        ("retry", look.waiting, 4),
        ("failed", facts.set_aside, 4),
    ]
    for gap, shrink, is_tight in ((2, 0, False), (1, 0, False), (1, 1, False), (1, 1, True), (0, 1, True)):
        row: Row = []
        for whole, count, size in fields:
            name = "twice" if is_tight and whole == "duplicates" else whole
            is_bad = name == "failed" and count
            style = palette.verdict_partly if is_bad else palette.bright if count else palette.faint
            number = grouped(count) + (" !" if is_bad else "")
            row += [(f"{name} ", palette.dim), (number.ljust(size - shrink), style), blank(gap)]
        if width_of(row) - gap <= width:
            break
    return row


def top(look: Look, width: int, *, is_wide: bool, tall: bool) -> list[Row]:
    """The plot and the counts, without the blank row below."""
    if not look.by_lenses and tall:
        return [left(counts(look, width), width), [], *_chart(look, width)]
    palette = look.palette
    numbers = counts(look, width)
    if look.by_lenses:
        label, points = _LABEL, look.facts.points
        if look.facts.pass_open and look.facts.pass_new:
            points = [*points, look.facts.pass_new]
    else:
        label, points = _over_time(look), look.state.progress.surfaced.counts
    room = width - len(label) - (width_of(numbers) + 3 if is_wide else 0)
    plot: Row = [(label, palette.dim), (sparkline(points, min(60, room)), palette.meter_ok)]
    if not any(points):
        plot = [(label, palette.dim), ("nothing yet", palette.faint)]
    return [apart(plot, numbers, width)] if is_wide else [left(plot, width), left(numbers, width)]


def _over_time(look: Look) -> str:
    seconds = look.state.progress.surfaced.seconds
    return "new a second " if seconds == 1 else f"new in {seconds}s".ljust(12) + " "


def _chart(look: Look, width: int) -> list[Row]:
    """Three rows, for a run of items."""
    palette, bars = look.palette, look.state.progress.surfaced
    room = min(110, width - 14)
    rows = chart(bars.counts, room, 3)
    most = highest(bars.counts, room)
    number = grouped(round(most)) if most < 10_000 else short(most)
    names = ("new", _over_time(look).removeprefix("new ").strip(), f"{number} at most" if most else "")
    return [
        [*left([(name, palette.dim if at < 2 else palette.faint)], 14), (bar, palette.meter_ok)]
        for at, (name, bar) in enumerate(zip(names, rows, strict=True))
    ]
