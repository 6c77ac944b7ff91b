"""Find which words of a line changed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache

_WORD = re.compile(r"\w+|\s+|.")
_IN_WORD = re.compile(r"\w")
_LONGEST = 5_000
"""Characters up to which lines are compared word by word; in longer lines only the changed range is marked."""
_SMALL = 4_000
"""Product of the word counts up to which difflib is used: it reads better, but takes 30 ms for 1,000 characters."""
_ALIKE = 0.4
"""Share of equal words below which two lines count as different lines, and not as one changed line."""

Spans = list[tuple[int, int]]


@lru_cache(maxsize=1_000)
def changed_words(old: str, new: str) -> tuple[Spans, Spans]:
    """Return the changed ranges of both lines in characters; none if the lines have little in common."""
    if old == new:
        return [], []
    if len(old) > _LONGEST or len(new) > _LONGEST:
        return _between(old, new)
    a, b = _WORD.findall(old), _WORD.findall(new)
    codes = list(_codes(a, b))
    equal = sum(len("".join(a[a0:a1]).strip()) for is_equal, a0, a1, _, _ in codes if is_equal)
    if equal < _ALIKE * max(len(old.strip()), len(new.strip())):
        return [], []
    left: Spans = []
    right: Spans = []
    starts_a, starts_b = _starts(a), _starts(b)
    for is_equal, a0, a1, b0, b1 in codes:
        if not is_equal:
            _add(left, starts_a[a0], starts_a[a1])
            _add(right, starts_b[b0], starts_b[b1])
    return left, right


def _between(old: str, new: str) -> tuple[Spans, Spans]:
    """Return what differs between the common start and end of two very long lines, extended to whole words."""
    start = _alike(old, new)
    while start and _IN_WORD.match(old[start - 1]):
        start -= 1
    end = _alike(old[start:][::-1], new[start:][::-1])
    while end and _IN_WORD.match(old[-end]):
        end -= 1
    if start + end < _ALIKE * max(len(old), len(new)):
        return [], []
    left, right = (start, len(old) - end), (start, len(new) - end)
    return [left] if left[0] < left[1] else [], [right] if right[0] < right[1] else []


def _alike(one: str, other: str) -> int:
    """Return the number of equal characters at the start of both."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        half = (low + high + 1) // 2
        low, high = (half, high) if one[low:half] == other[low:half] else (low, half - 1)
    return low


def _codes(a: Sequence[str], b: Sequence[str]) -> Iterator[tuple[bool, int, int, int, int]]:
    if len(a) * len(b) <= _SMALL:
        for tag, a0, a1, b0, b1 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
            yield tag == "equal", a0, a1, b0, b1
        return
    from rapidfuzz.distance import Indel

    ids: dict[str, int] = {}  # numbers instead of words, because rapidfuzz compares hashes
    numbers = [[ids.setdefault(word, len(ids)) for word in side] for side in (a, b)]
    for code in Indel.opcodes(numbers[0], numbers[1]):
        yield code.tag == "equal", code.src_start, code.src_end, code.dest_start, code.dest_end


def _starts(words: list[str]) -> list[int]:
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    return starts


def _add(spans: Spans, start: int, end: int) -> None:
    if start == end:
        return
    if spans and start - spans[-1][1] <= 1:
        spans[-1] = (spans[-1][0], end)
    else:
        spans.append((start, end))
