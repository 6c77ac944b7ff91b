"""Find the old text of a block in a file. Does no I/O."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate

import msgspec

from .block_lines import BLANK, Document

_MOST = 20
_SIGNS = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | dict.fromkeys("\u2018\u2019\u201a\u201b", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f", '"')
    | dict.fromkeys("\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " ")
)
"""Characters that models replace with their plain form."""


class Match(msgspec.Struct, frozen=True):
    """The one place of an old text in the file."""

    row: int
    sent: list[str]
    """The lines as the model sent them, without surrounding blank lines that the file lacks."""
    prefix: str = ""
    suffix: str = ""
    """Text before and after it in its first and last line."""
    exact: bool = False
    """The file contains it as it was sent, except for line endings."""
    begins_with_newline: bool = False
    """It began with the line ending of the previous line, which is ignored."""
    blank: tuple[int, int] = (0, 0)
    """Number of blank lines dropped before and after it."""
    is_plain: bool = False
    """It has plain quotes, dashes or spaces where the file has typographic ones."""


class ManyMatches(msgspec.Struct, frozen=True):
    """An old text that matches at more than one place."""

    rows: list[int]


def find_match(document: Document, old: str) -> Match | ManyMatches | None:
    """Find a text with LF line endings, or None if it does not occur."""
    joined = "".join(f"{row}\n" for row in document.rows)
    found = _offsets(joined, old)
    if not found:
        return _loose(document, old)
    starts = [0, *accumulate(len(row) + 1 for row in document.rows)]
    rows = [bisect_right(starts, at) - 1 for at in found]
    if len(found) > 1:
        return ManyMatches(rows)
    here = _exact(document, old, rows[0], found[0] - starts[rows[0]])
    if here.prefix and not here.prefix.strip(BLANK) and not here.suffix.strip(BLANK):
        others = _where(
            [_bare(row, plain_characters) for row in document.rows], [_bare(row, plain_characters) for row in here.sent]
        )
        if len(others) > 1:
            return ManyMatches(others)
    return here


def plain_characters(text: str) -> str:
    """Return the text with plain quotes, dashes and spaces."""
    return text if text.isascii() else text.translate(_SIGNS)


def _offsets(text: str, old: str) -> list[int]:
    """Return the offsets of the text, overlaps included; at most twenty."""
    found: list[int] = []
    at = text.find(old)
    while at >= 0 and len(found) < _MOST:
        found.append(at)
        at = text.find(old, at + 1)
    return found


def _exact(document: Document, old: str, row: int, column: int) -> Match:
    begins_with_newline = old.startswith("\n") and column > 0 and bool(old.strip(BLANK + "\n"))
    if begins_with_newline:
        old, row, column = old[1:], row + 1, 0
    sent = old.removesuffix("\n").split("\n")
    last = document.rows[row + len(sent) - 1]
    end = (column if len(sent) == 1 else 0) + len(sent[-1])
    suffix = "" if old.endswith("\n") else last[end:]
    return Match(row, sent, document.rows[row][:column], suffix, exact=True, begins_with_newline=begins_with_newline)


def _loose(document: Document, old: str) -> Match | ManyMatches | None:
    """Match whole lines without indentation and trailing white space, then also with plain characters."""
    sent = old.removesuffix("\n").split("\n")
    head = next((k for k, line in enumerate(sent) if line.strip(BLANK)), None)
    if head is None:
        return None
    tail = next(k for k, line in enumerate(reversed(sent)) if line.strip(BLANK))
    inner = sent[head : len(sent) - tail]
    rows = [_bare(row, plain_characters) for row in document.rows]
    for block, cut in ((sent, (0, 0)), (inner, (head, tail))):
        found = _where(rows, [_bare(line, plain_characters) for line in block])
        if len(found) > 1:
            return ManyMatches(found)
        if found:
            same = all(
                _bare(row, str) == _bare(line, str) for row, line in zip(document.rows[found[0] :], block, strict=False)
            )
            return Match(found[0], list(block), blank=cut, is_plain=not same)
    return None


def _bare(line: str, fold: Callable[[str], str]) -> str:
    return fold(line).strip(BLANK)


def _where(rows: Sequence[str], block: Sequence[str]) -> list[int]:
    return [
        i
        for i in range(len(rows) - len(block) + 1)
        if rows[i] == block[0] and all(rows[i + k] == block[k] for k in range(1, len(block)))
    ]
