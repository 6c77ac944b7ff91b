"""Which lines changed: lines that occur once anchor (patience diff), difflib looks at what lies between.

A repetitive file takes difflib alone 17 s, and 50,000 hunks take it minutes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

_SMALL = 250_000
"""Lines times lines up to which difflib may look for the smallest change."""


class Change(NamedTuple):
    """Lines `a1` to `a2` of the old text became lines `b1` to `b2` of the new one; 0-based, ends excluded."""

    a1: int
    a2: int
    b1: int
    b2: int


def changes(a: Sequence[str], b: Sequence[str]) -> list[Change]:
    """All changed regions in order, none empty, no two touching."""
    merged: list[Change] = []
    for change in sorted(_regions(a, b)):
        if merged and merged[-1].a2 == change.a1 and merged[-1].b2 == change.b1:
            merged[-1] = Change(merged[-1].a1, change.a2, merged[-1].b1, change.b2)
        else:
            merged.append(change)
    return merged


def _regions(a: Sequence[str], b: Sequence[str]) -> Iterator[Change]:
    todo = [Change(0, len(a), 0, len(b))]
    while todo:
        span = _trimmed(a, b, todo.pop())
        if span.a1 == span.a2 and span.b1 == span.b2:
            continue
        if span.a1 == span.a2 or span.b1 == span.b2:
            yield span
        elif anchors := _anchors(a, b, span):
            at_a, at_b = span.a1, span.b1
            for i, j in [*anchors, (span.a2, span.b2)]:
                todo.append(Change(at_a, i, at_b, j))
                at_a, at_b = i + 1, j + 1
        elif (span.a2 - span.a1) * (span.b2 - span.b1) <= _SMALL:
            yield from _matched(a, b, span)
        else:
            yield span


def _trimmed(a: Sequence[str], b: Sequence[str], span: Change) -> Change:
    a1, a2, b1, b2 = span
    while a1 < a2 and b1 < b2 and a[a1] == b[b1]:
        a1, b1 = a1 + 1, b1 + 1
    while a1 < a2 and b1 < b2 and a[a2 - 1] == b[b2 - 1]:
        a2, b2 = a2 - 1, b2 - 1
    return Change(a1, a2, b1, b2)


def _anchors(a: Sequence[str], b: Sequence[str], span: Change) -> list[tuple[int, int]]:
    """Pairs of equal lines that occur once on both sides, as many as keep their order on both."""
    in_a, in_b = Counter(a[span.a1 : span.a2]), Counter(b[span.b1 : span.b2])
    place = {line: i for i in range(span.a1, span.a2) if in_a[line := a[i]] == 1 and in_b[line] == 1}
    pairs = [(place[b[j]], j) for j in range(span.b1, span.b2) if b[j] in place]
    ends: list[int] = []
    """Smallest last `a` of a rising run of each length."""
    last: list[int] = []
    """Which pair that is."""
    came_from: list[int | None] = []
    for k, (i, _) in enumerate(pairs):
        at = bisect_left(ends, i)
        came_from.append(last[at - 1] if at else None)
        ends[at : at + 1], last[at : at + 1] = [i], [k]
    rising: list[tuple[int, int]] = []
    step = last[-1] if last else None
    while step is not None:
        rising.append(pairs[step])
        step = came_from[step]
    return rising[::-1]


def _matched(a: Sequence[str], b: Sequence[str], span: Change) -> Iterator[Change]:
    matcher = SequenceMatcher(None, a[span.a1 : span.a2], b[span.b1 : span.b2], autojunk=False)
    for tag, a1, a2, b1, b2 in matcher.get_opcodes():
        if tag != "equal":
            yield Change(span.a1 + a1, span.a1 + a2, span.b1 + b1, span.b1 + b2)
