"""Find the lines that are most like a missing block: for the error message, never for an edit."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ..text import lines_of

_ENOUGH = 60.0
"""Least similarity in percent that makes a place worth showing."""
_MOST_LINES = 20_000
_CANDIDATES = 12


class Near(msgspec.Struct, frozen=True):
    """The place in a file that is most similar to a search text."""

    line: int
    """Number of its first line, 1-based."""
    lines: list[str]
    likeness: float
    """Similarity in percent."""


def nearest(text: str, old: str) -> Near | None:
    """Return the lines that are most like the block, or None if none are similar."""
    from rapidfuzz import fuzz, process

    lines = lines_of(text)[:_MOST_LINES]
    block = lines_of(old)
    while block and not block[0].strip():
        block.pop(0)
    if not lines or not block:
        return None
    anchor = max(range(len(block)), key=lambda i: len(block[i].strip()))
    stripped = [line.strip() for line in lines]
    hits = process.extract(block[anchor].strip(), stripped, scorer=fuzz.ratio, limit=_CANDIDATES)
    best: Near | None = None
    for _, _, at in hits:
        start = max(0, int(at) - anchor)
        found = lines[start : start + len(block)]
        likeness = fuzz.ratio(_joined(found), _joined(block))
        if best is None or likeness > best.likeness:
            best = Near(start + 1, found, likeness)
    return best if best is not None and best.likeness >= _ENOUGH else None


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(line.strip() for line in lines)
