"""Pair each removed line with the added line that replaced it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .diff_rows import Row

_WORD = re.compile(r"\w+|[^\w\s]")
_ALIKE = 0.5
_MOST = 400
"""Number of pairs of lines up to which they are compared word by word; larger changes are paired in order."""


def change_rows(
    old: Sequence[str], new: Sequence[str], old_number: int, new_number: int, hunk: int, bare: tuple[bool, bool]
) -> list[Row]:
    """Return the rows of removed and added lines with their first numbers.

    `bare`: the last line of a side has no line feed.
    """
    beside, lead = _places(old, new)
    owner = {added: removed for removed, added in beside.items()}
    for removed, count in lead.items():
        owner.update((beside[removed] - n, removed) for n in range(1, count + 1))
    size = len(old)
    rows = [
        Row("-", old_number + n, 0, text, hunk, size - n + beside[n] if n in beside else 0, lead.get(n, 0))
        for n, text in enumerate(old)
    ]
    rows += [
        Row("+", 0, new_number + n, text, hunk, owner[n] - size - n if n in owner else 0) for n, text in enumerate(new)
    ]
    for last, is_bare in ((size - 1, bare[0]), (len(rows) - 1, bare[1])):
        if is_bare:
            row = rows[last]
            rows[last] = Row(row.kind, row.old, row.new, row.text, hunk, row.beside, row.lead, bare=True)
    return rows


def _places(old: Sequence[str], new: Sequence[str]) -> tuple[dict[int, int], dict[int, int]]:
    """Map each removed line to the added line next to it, and to the number of added lines shown above that one."""
    if len(old) == len(new) or len(old) * len(new) > _MOST:
        return dict(zip(range(len(old)), range(len(new)), strict=False)), {}
    beside: dict[int, int] = {}
    lead: dict[int, int] = {}
    at_old = at_new = 0
    for left, right in _alike(old, new):
        gap = min(left - at_old, right - at_new)
        beside.update((at_old + n, at_new + n) for n in range(gap))
        beside[left] = right
        if right - at_new > gap:
            lead[left] = right - at_new - gap
        at_old, at_new = left + 1, right + 1
    beside.update(zip(range(at_old, len(old)), range(at_new, len(new)), strict=False))
    return beside, lead


def _alike(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int]]:
    start = 0
    words = [set(_WORD.findall(line)) for line in new]
    for left, line in enumerate(old):
        mine = set(_WORD.findall(line))
        best, at = max(((_likeness(mine, words[n]), -n) for n in range(start, len(new))), default=(0.0, 0))
        if best >= _ALIKE:
            yield left, -at
            start = 1 - at


def _likeness(left: set[str], right: set[str]) -> float:
    return len(left & right) / max(1, len(left | right))
