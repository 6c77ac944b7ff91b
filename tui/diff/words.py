"""Which words of a line changed."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

_WORD = re.compile(r"\w+|\s+|.")
_LONGEST = 1_500
"""Characters of a line that are still compared word by word."""
_ALIKE = 0.4
"""Share of equal words below which two lines are two lines, not one that changed."""

Spans = list[tuple[int, int]]


def changed_words(old: str, new: str) -> tuple[Spans, Spans]:
    """The changed stretches of both lines in characters; none where they have little in common."""
    if old == new or len(old) > _LONGEST or len(new) > _LONGEST:
        return [], []
    a, b = _WORD.findall(old), _WORD.findall(new)
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    equal = sum(len("".join(a[block.a : block.a + block.size]).strip()) for block in matcher.get_matching_blocks())
    if equal < _ALIKE * max(len(old.strip()), len(new.strip())):
        return [], []
    left: Spans = []
    right: Spans = []
    starts_a, starts_b = _starts(a), _starts(b)
    for tag, a0, a1, b0, b1 in matcher.get_opcodes():
        if tag != "equal":
            _add(left, starts_a[a0], starts_a[a1])
            _add(right, starts_b[b0], starts_b[b1])
    return left, right


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
