"""Styled text into lines of cells. What comes in here has crossed `tui.text` already."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise

from rich.cells import cell_len, split_graphemes
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from ..text import MARK

Run = tuple[str, Style]
"""A stretch of text in one style, without line feeds."""


def breaks(text: str, width: int, *, words: bool = True) -> list[tuple[int, int]]:
    """Where `text` (one line) breaks into rows of at most `width` cells: start and end of each, in characters.

    With `words`, at blanks where there are any (those blanks belong to no row); else anywhere. At least one row.
    """
    size = len(text)
    fit = _fit(text, max(2, width))
    rows: list[tuple[int, int]] = []
    start = 0
    while True:
        end = fit(start)
        if end >= size:
            rows.append((start, size))
            return rows
        cut = end
        if words and text[end] != " ":
            blank = text.rfind(" ", start + 1, end)
            if blank > start and text[start:blank].strip():
                cut = blank
        rows.append((start, cut))
        start = cut
        while words and start < size and text[start] == " ":
            start += 1
        if start >= size:
            return rows


def fold(runs: Sequence[Run], width: int, *, words: bool = True) -> list[list[Run]]:
    """The runs of one line in rows of at most `width` cells."""
    text = "".join(part for part, _ in runs)
    if len(text) <= width and text.isascii():
        return [list(runs)]
    spans = breaks(text, width, words=words)
    return [cut(runs, start, end) for start, end in spans]


def cut(runs: Iterable[Run], start: int, end: int) -> list[Run]:
    """The characters from `start` to `end` of a line."""
    found: list[Run] = []
    at = 0
    for text, style in runs:
        if at >= end:
            break
        piece = text[max(0, start - at) : end - at]
        if piece and at + len(text) > start:
            found.append((piece, style))
        at += len(text)
    return found


def shorten(runs: Sequence[Run], width: int) -> list[Run]:
    """The runs within `width` cells, the rest as `…`."""
    text = "".join(part for part, _ in runs)
    if cell_len(text) <= width:
        return list(runs)
    if width < 1:
        return []
    end = _fit(text, width)(0)
    while end > 0 and cell_len(text[:end]) > width - 1:
        end -= 1
    kept = cut(runs, 0, end)
    return [*kept, ("…", kept[-1][1] if kept else Style.null())]


def width_of(runs: Iterable[Run]) -> int:
    """In cells."""
    return sum(cell_len(text) for text, _ in runs)


def marked(text: str, style: Style, mark: Style) -> list[Run]:
    """A shown text as runs, with the marks that `tui.text` put in it painted as such."""
    if text.isascii():
        return [(text, style)] if text else []
    runs: list[Run] = []
    at = 0
    for match in MARK.finditer(text):
        if match.start() > at:
            runs.append((text[at : match.start()], style))
        runs.append((match.group(), mark))
        at = match.end()
    if at < len(text):
        runs.append((text[at:], style))
    return runs


def to_strip(runs: Iterable[Run]) -> Strip:
    """One row."""
    return Strip([Segment(text, style) for text, style in runs if text])


def paint(strip: Strip, spans: Sequence[tuple[int, int, Style]]) -> Strip:
    """The row with a style laid over some of its characters: start, end and style of each, in order."""
    segments: list[Segment] = []
    at = 0
    for text, style, _ in strip:
        base = style or Style.null()
        cuts = {0, len(text)}
        for start, end, _over in spans:
            cuts.update(point - at for point in (start, end) if 0 < point - at < len(text))
        points = sorted(cuts)
        for left, right in pairwise(points):
            over = [extra for start, end, extra in spans if start <= at + left and at + right <= end]
            segments.append(Segment(text[left:right], sum(over, start=base) if over else base))
        at += len(text)
    return Strip(segments, strip.cell_length)


class _fit:
    """How far a row reaches that starts at a character: the index after its last one."""

    def __init__(self, text: str, width: int) -> None:
        self._size = len(text)
        self._width = width
        self._ends: list[int] | None = None
        if not text.isascii():
            spans, _ = split_graphemes(text)
            self._ends = [end for _, end, _ in spans]
            self._cells: list[int] = []
            total = 0
            for _, _, cells in spans:
                total += cells
                self._cells.append(total)

    def __call__(self, start: int) -> int:
        if self._ends is None:
            return min(self._size, start + self._width)
        first = bisect_right(self._ends, start)
        used = self._cells[first - 1] if first else 0
        last = bisect_right(self._cells, used + self._width) - 1
        return self._ends[max(first, last)] if self._ends else self._size
