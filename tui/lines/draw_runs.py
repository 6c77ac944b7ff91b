"""Draw styled text as rows of cells. The text has already passed through `tui.text.show_text`."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise

from rich.cells import cell_len, split_graphemes
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from ..text.show_text import MARK

_LOOK_BACK = 40
Run = tuple[str, Style]
"""A stretch of text in one style, without line feeds."""


def breaks(text: str, width: int, *, words: bool = True) -> list[tuple[int, int]]:
    """Return where `text` (one line) breaks into rows of at most `width` cells: start and end of each, in characters.

    With `words`, it breaks at blanks if there are any, and those blanks belong to no row; otherwise it breaks anywhere.
    There is at least one row.
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
            cut = _word_break(text, start, end)
        rows.append((start, cut))
        start = cut
        while words and start < size and text[start] == " ":
            start += 1
        if start >= size:
            return rows


def fold(
    runs: Sequence[Run], width: int, *, words: bool = True, hang: int = 0, limit: int | None = None
) -> list[list[Run]]:
    """Return the runs of one line in rows of at most `width` cells; the rows after the first are set in by `hang`.

    `limit`: the largest number of rows; the last one is shortened.
    """
    text = "".join(part for part, _ in runs)
    if len(text) <= width and text.isascii():
        return [list(runs)]
    first, *spans = breaks(text, width, words=words)
    if hang and spans and width > 2 * hang:
        at = spans[0][0]
        spans = [(at + start, at + end) for start, end in breaks(text[at:], width - hang, words=words)]
    else:
        hang = 0
    indent: list[Run] = [(" " * hang, Style.null())] if hang else []
    rows = [cut(runs, *first), *([*indent, *cut(runs, start, end)] for start, end in spans)]
    if limit is None or len(rows) <= limit:
        return rows
    start, lead = [first, *spans][limit - 1][0], indent if limit > 1 else []
    return [*rows[: limit - 1], [*lead, *shorten(cut(runs, start, len(text)), width - width_of(lead))]]


_WIDE = re.compile(r"[\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff01-\uff60\U00020000-\U0003fffd]")
"""East Asian text, which breaks between any two characters except the ones below."""
_NOT_FIRST = frozenset(
    "、。，．・：；？！゛゜ヽヾゝゞ々ー」』）］｝〉》】〕〗〙ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶ,.;:?!)]}…"
)
_NOT_LAST = frozenset("「『（［｛〈《【〔〖〘([{")


def _word_break(text: str, start: int, end: int) -> int:
    """Return where a row that has room until `end` breaks: at the last blank, or between wide characters."""
    blank = text.rfind(" ", start + 1, end)
    if blank <= start or not text[start:blank].strip():
        blank = 0
    if text.isascii():
        return blank or end
    for at in range(end, max(blank, start, end - _LOOK_BACK), -1):
        near = _WIDE.match(text, at - 1) or _WIDE.match(text, at)
        if near and cell_len(text[at]) and text[at] not in _NOT_FIRST and text[at - 1] not in _NOT_LAST:
            return at
    return blank or end


def cut(runs: Iterable[Run], start: int, end: int) -> list[Run]:
    """Return the runs for the characters from `start` to `end` of a line."""
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
    """Shorten the runs to `width` cells, with `…` in place of the rest."""
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
    """Return the width of runs in cells."""
    return sum(cell_len(text) for text, _ in runs)


def marked(text: str, style: Style, mark: Style) -> list[Run]:
    """Return a shown text as runs, in which the marks that `tui.text.show_text` inserted have their own style."""
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
    """Return the runs as one row for the screen."""
    return Strip([Segment(text, style) for text, style in runs if text])


def paint(strip: Strip, spans: Sequence[tuple[int, int, Style]]) -> Strip:
    """Return the row with a style laid over some of its characters: start, end and style of each, in order."""
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
    """Finds how many characters fit into one row: the index after the last one."""

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
