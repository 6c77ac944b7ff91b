"""Rows of columns: padded, shortened and joined. Foreign text passes through `tui.text.show_text` here."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from rich.style import Style

from ..lines.draw_runs import Run, marked, shorten, width_of
from ..text.shorten_cells import cells_middle
from ..text.show_text import one_line

if TYPE_CHECKING:
    from ..theme.theme import Palette

Row = list[Run]

PLAIN = Style.null()


def foreign(text: str, style: Style, palette: Palette) -> Row:
    """Return a foreign text in one line, safe to display."""
    return marked(one_line(text), style, palette.mark)


def blank(width: int) -> Run:
    """Return blank cells."""
    return (" " * max(0, width), PLAIN)


def left(runs: Sequence[Run], width: int) -> Row:
    """Return exactly `width` cells, aligned to the left; what does not fit becomes `…`."""
    kept = shorten(runs, max(0, width))
    return [*kept, blank(width - width_of(kept))]


def right(runs: Sequence[Run], width: int) -> Row:
    """Return exactly `width` cells, aligned to the right."""
    kept = shorten(runs, max(0, width))
    return [blank(width - width_of(kept)), *kept]


def apart(start: Sequence[Run], end: Sequence[Run], width: int) -> Row:
    """Return exactly `width` cells with one text at each edge; the left one is shortened if there is no room."""
    tail = shorten(end, width)
    room = width - width_of(tail)
    return [*left(start, room - 2), blank(min(2, room)), *tail] if tail else left(start, width)


def beside(first: Sequence[Row], second: Sequence[Row], width: int, gap: int) -> list[Row]:
    """Return two columns of rows; the first is `width` cells wide."""
    return [[*left(a, width), blank(gap), *b] for a, b in zip_longest(first, second, fillvalue=list[Run]())]


def path(text: str, style: Style, palette: Palette, width: int) -> Row:
    """Return a foreign address or path, shortened in its middle."""
    return marked(cells_middle(one_line(text), width), style, palette.mark)


def grouped(count: int) -> str:
    """Return a number with groups of digits: `1 204`; from a million on `1.2M`."""
    if count >= 1_000_000:
        return f"{count / 1_000_000:.1f}M"
    return f"{count:,}".replace(",", " ")


def since(seconds: float) -> str:
    """Return a duration as `12s`, `3:05` or `1:02:03`. The caller aligns it."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole}s"
    hours, rest = divmod(whole, 3600)
    minutes, rest = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
