"""A diff as HTML: line numbers, colours of the language, and the words that changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from ...diff.changed_words import Spans, changed_words
from ...diff.code_runs import Piece, lex, lexer_for
from ...diff.unified import diff_of_text
from ...text.show_text import show
from .page_text import escaped

if TYPE_CHECKING:
    from ...diff.diff_rows import Diff, Row

_CLASSES = {
    "code_keyword": "c1",
    "code_string": "c2",
    "code_number": "c3",
    "code_comment": "c4",
    "code_name": "c5",
    "code_type": "c6",
}
_MOST = 4_000
"""Lines of one diff that are shown."""
_SIDES = {"+": ("a", "+"), "-": ("r", "−")}


def diff_html(path: str, text: str) -> Iterator[str]:
    """Yield a unified diff, from which keys are hidden already, line by line."""
    diff = diff_of_text(path, text)
    yield '<pre class="diff">'
    yield from _lines(diff, diff.rows[:_MOST])
    if len(diff.rows) > _MOST:
        yield f'<div class="h">{len(diff.rows) - _MOST} more lines are in the journal</div>'
    yield "</pre>"


def diff_lines_html(diff: Diff) -> Iterator[str]:
    """Yield every line of a diff, for a `pre` element of the class `diff`."""
    return _lines(diff, diff.rows)


def _lines(diff: Diff, rows: Sequence[Row]) -> Iterator[str]:
    lexer = lexer_for(diff.path)
    coloured = dict(zip(_places(rows), lex([show(row.text) for row in rows if _is_code(row)], lexer), strict=True))
    for index, row in enumerate(rows):
        if _is_code(row):
            yield _line(diff, index, row, coloured[index])
        elif row.kind == "fold":
            yield f'<div class="h">⋯ {escaped(row.text)} unchanged</div>'
        elif row.kind == "head":
            yield f'<div class="h">{escaped(show(diff.hunks[row.hunk].name))}</div>'
        else:
            yield f'<div class="h">{escaped(show(row.text))}</div>'


def _is_code(row: Row) -> bool:
    return row.kind in (" ", "+", "-")


def _places(rows: Sequence[Row]) -> list[int]:
    return [index for index, row in enumerate(rows) if _is_code(row)]


def _line(diff: Diff, index: int, row: Row, pieces: Sequence[Piece]) -> str:
    side, sign = _SIDES.get(row.kind, ("", " "))
    old, new = (str(number) if number else "" for number in (row.old, row.new))
    spans = _changed(diff, index, row)
    words = "".join(_piece(*each) for each in _cut(pieces, spans))
    return f'<div class="{side}"><i>{old}</i><i>{new}</i><span class="t">{sign} {words}</span></div>'


def _changed(diff: Diff, index: int, row: Row) -> Spans:
    """Return what changed of the shown line, next to the line that took its place or whose place it took."""
    other = diff.partner(index) if row.kind in _SIDES else None
    if other is None:
        return []
    text, beside = show(row.text), show(diff.rows[other].text)
    return changed_words(text, beside)[0] if row.kind == "-" else changed_words(beside, text)[1]


def _cut(pieces: Sequence[Piece], spans: Spans) -> Iterator[tuple[str, str, bool]]:
    """Yield the pieces, cut where a changed stretch begins or ends."""
    edges = sorted({edge for span in spans for edge in span})
    start = 0
    for text, slot in pieces:
        end = start + len(text)
        cuts = [start, *(edge for edge in edges if start < edge < end), end]
        for one, two in pairwise(cuts):
            yield text[one - start : two - start], slot, any(low <= one and two <= high for low, high in spans)
        start = end


def _piece(text: str, slot: str, is_changed: bool) -> str:
    words = escaped(text)
    if slot in _CLASSES:
        words = f'<span class="{_CLASSES[slot]}">{words}</span>'
    return f"<mark>{words}</mark>" if is_changed else words
