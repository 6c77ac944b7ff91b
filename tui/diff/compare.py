"""Which lines of two texts differ: patience first, which is fast and reads well, difflib for what is left.

`difflib` alone takes seconds on a long repetitive file; lines that occur once on both sides cut it into small pieces.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

_SMALL = 2_000
"""Lines on both sides together up to which difflib looks for the best match."""


class Change(NamedTuple):
    """Lines `a0` to `a1` of the old text became `b0` to `b1` of the new one."""

    a0: int
    a1: int
    b0: int
    b1: int


def compare(old: Sequence[str], new: Sequence[str]) -> list[Change]:
    """Every change, in order; what lies between two of them is equal."""
    ids: dict[str, int] = {}
    a = [ids.setdefault(line, len(ids)) for line in old]
    b = [ids.setdefault(line, len(ids)) for line in new]
    found: list[Change] = []
    waiting = [Change(0, len(a), 0, len(b))]
    while waiting:
        part = _trim(a, b, waiting.pop())
        if part.a0 == part.a1 and part.b0 == part.b1:
            continue
        anchors = _anchors(a, b, part) if part.a0 < part.a1 and part.b0 < part.b1 else []
        if anchors:
            waiting.extend(reversed(_between(part, anchors)))
        else:
            found.extend(_small(a, b, part))
    return _joined(found)


def _trim(a: list[int], b: list[int], part: Change) -> Change:
    a0, a1, b0, b1 = part
    while a0 < a1 and b0 < b1 and a[a0] == b[b0]:
        a0, b0 = a0 + 1, b0 + 1
    while a0 < a1 and b0 < b1 and a[a1 - 1] == b[b1 - 1]:
        a1, b1 = a1 - 1, b1 - 1
    return Change(a0, a1, b0, b1)


def _anchors(a: list[int], b: list[int], part: Change) -> list[tuple[int, int]]:
    """Lines that occur once on either side, in the longest order that both sides share."""
    left, right = a[part.a0 : part.a1], b[part.b0 : part.b1]
    in_left, in_right = Counter(left), Counter(right)
    where = {line: at for at, line in enumerate(right, part.b0) if in_right[line] == 1 and in_left.get(line) == 1}
    pairs = [(at, where[line]) for at, line in enumerate(left, part.a0) if line in where]
    tails: list[int] = []
    ends: list[int] = []
    before = [-1] * len(pairs)
    for index, (_, at) in enumerate(pairs):
        place = bisect_left(tails, at)
        before[index] = ends[place - 1] if place else -1
        if place == len(tails):
            tails.append(at)
            ends.append(index)
        else:
            tails[place], ends[place] = at, index
    chain: list[tuple[int, int]] = []
    index = ends[-1] if ends else -1
    while index >= 0:
        chain.append(pairs[index])
        index = before[index]
    chain.reverse()
    return chain


def _between(part: Change, anchors: list[tuple[int, int]]) -> list[Change]:
    found: list[Change] = []
    a0, b0 = part.a0, part.b0
    for at_a, at_b in anchors:
        if a0 < at_a or b0 < at_b:
            found.append(Change(a0, at_a, b0, at_b))
        a0, b0 = at_a + 1, at_b + 1
    if a0 < part.a1 or b0 < part.b1:
        found.append(Change(a0, part.a1, b0, part.b1))
    return found


def _small(a: list[int], b: list[int], part: Change) -> list[Change]:
    left, right = a[part.a0 : part.a1], b[part.b0 : part.b1]
    if not left or not right or set(left).isdisjoint(right) or len(left) + len(right) > _SMALL:
        return [part]
    matcher = SequenceMatcher(None, left, right, autojunk=len(left) + len(right) > _SMALL // 4)
    return [
        Change(part.a0 + a0, part.a0 + a1, part.b0 + b0, part.b0 + b1)
        for tag, a0, a1, b0, b1 in matcher.get_opcodes()
        if tag != "equal"
    ]


def _joined(changes: list[Change]) -> list[Change]:
    found: list[Change] = []
    for change in changes:
        if found and found[-1].a1 == change.a0 and found[-1].b1 == change.b0:
            found[-1] = Change(found[-1].a0, change.a1, found[-1].b0, change.b1)
        else:
            found.append(change)
    return found
