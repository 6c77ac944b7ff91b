"""Find the changed lines: lines that occur once are anchors (patience diff), and the text between them is compared.

Long texts are compared in windows, so that their first changes are known immediately. `difflib` alone takes 17 s for
a repetitive file and minutes for 50,000 hunks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

_WINDOW = 2_048
"""Lines of either side that are compared at a time; shorter texts are compared whole."""
_SHARE = 16
"""A window may end where at least one line in 16 is an anchor. With fewer anchors, which may be chance, it grows."""
_SMALL = 10_000
"""Limit for difflib: the product of both line counts."""
_LARGE = 200_000_000
"""The same limit for rapidfuzz, which finds the smallest change: it then takes 25 MB and a few milliseconds."""


class Change(NamedTuple):
    """Lines `a1` to `a2` of the old text became lines `b1` to `b2` of the new one; 0-based, ends excluded."""

    a1: int
    a2: int
    b1: int
    b2: int


def find_changes(a: Sequence[str], b: Sequence[str]) -> list[Change]:
    """Return all changed regions in order. No region is empty, and no two regions touch."""
    return list(iter_changes(a, b))


def iter_changes(a: Sequence[str], b: Sequence[str]) -> Iterator[Change]:
    """Yield what `find_changes` returns. In a long text, the first regions come before the rest is compared."""
    held: Change | None = None
    for window in _windows(a, b):
        for change in sorted(_regions(a, b, window)):
            if held is not None and (held.a2, held.b2) == (change.a1, change.b1):
                held = Change(held.a1, change.a2, held.b1, change.b2)
                continue
            if held is not None:
                yield held
            held = change
    if held is not None:
        yield held


def _windows(a: Sequence[str], b: Sequence[str]) -> Iterator[Change]:
    at_a = at_b = 0
    size = _WINDOW
    while True:
        same = _same(a, b, at_a, at_b)
        at_a, at_b = at_a + same, at_b + same
        if len(a) - at_a <= size or len(b) - at_b <= size:
            yield Change(at_a, len(a), at_b, len(b))
            return
        split_at = _split_point(a, b, Change(at_a, at_a + size, at_b, at_b + size))
        if split_at is None:
            size *= 2
            continue
        yield Change(at_a, split_at[0], at_b, split_at[1])
        (at_a, at_b), size = split_at, _WINDOW


def _same(a: Sequence[str], b: Sequence[str], at_a: int, at_b: int) -> int:
    """Count the equal lines from these two positions on."""
    limit = min(len(a) - at_a, len(b) - at_b)
    count = 0
    while count + 256 <= limit and a[at_a + count : at_a + count + 256] == b[at_b + count : at_b + count + 256]:
        count += 256
    while count < limit and a[at_a + count] == b[at_b + count]:
        count += 1
    return count


def _split_point(a: Sequence[str], b: Sequence[str], window: Change) -> tuple[int, int] | None:
    """Return an anchor in the third quarter of the window; None if there are too few anchors.

    Near the end of the window, the text after it may change the anchors.
    """
    anchors = _anchors(a, b, window)
    size = window.a2 - window.a1
    if len(anchors) * _SHARE < size:
        return None
    low, high = size // 2, size * 3 // 4
    sure = [(i, j) for i, j in anchors if low <= i - window.a1 < high and low <= j - window.b1 < high]
    return sure[-1] if sure else None


def _regions(a: Sequence[str], b: Sequence[str], window: Change) -> Iterator[Change]:
    todo = [window]
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
        elif (span.a2 - span.a1) * (span.b2 - span.b1) <= _LARGE:
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
    """Return pairs of equal lines that occur once on both sides: the longest series in the same order on both."""
    in_a, in_b = Counter(a[span.a1 : span.a2]), Counter(b[span.b1 : span.b2])
    place = {line: i for i in range(span.a1, span.a2) if in_a[line := a[i]] == 1 and in_b[line] == 1}
    pairs = [(place[b[j]], j) for j in range(span.b1, span.b2) if b[j] in place]
    ends: list[int] = []
    """For each length of an ascending series, the smallest last `a`."""
    last: list[int] = []
    """For each length, the index of the pair with that `a`."""
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
    left, right = a[span.a1 : span.a2], b[span.b1 : span.b2]
    small = len(left) * len(right) <= _SMALL
    for tag, a1, a2, b1, b2 in _opcodes(left, right) if small else _fast_opcodes(left, right):
        if tag != "equal":
            yield Change(span.a1 + a1, span.a1 + a2, span.b1 + b1, span.b1 + b2)


def _opcodes(left: Sequence[str], right: Sequence[str]) -> Iterator[tuple[str, int, int, int, int]]:
    yield from SequenceMatcher(None, left, right, autojunk=False).get_opcodes()


def _fast_opcodes(left: Sequence[str], right: Sequence[str]) -> Iterator[tuple[str, int, int, int, int]]:
    from rapidfuzz.distance import Indel  # ~40 ms to import, and most changes do not need it

    ids: dict[str, int] = {}  # numbers, because rapidfuzz compares hashes
    numbers = [[ids.setdefault(line, len(ids)) for line in side] for side in (left, right)]
    for code in Indel.opcodes(numbers[0], numbers[1]):
        yield code.tag, code.src_start, code.src_end, code.dest_start, code.dest_end
