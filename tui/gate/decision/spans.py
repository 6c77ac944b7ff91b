"""Where the hunks of a diff are, so that what is chosen on the screen is what the gate takes. No textual in here."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import NamedTuple

from ...diff import Diff

_HEAD = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.M)
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


class Span(NamedTuple):
    """The lines that a hunk stands for, the unchanged ones around it included; from 1, 0 where there are none."""

    old: int
    old_count: int
    new: int
    new_count: int


def spans_of(diff: Diff) -> list[Span]:
    """Of each hunk that is shown."""
    found: list[Span] = []
    marks = [*(hunk.row for hunk in diff.hunks), len(diff.rows)]
    for hunk, (head, end) in zip(diff.hunks, pairwise(marks), strict=True):
        start = head + 1
        while end > start and (diff.rows[end - 1].kind not in " +-" or diff.rows[end - 1].hunk != hunk.index):
            end -= 1
        same = end - start - hunk.added - hunk.removed
        old = next((diff.rows[at].old for at in range(start, end) if diff.rows[at].old), 0)
        new = next((diff.rows[at].new for at in range(start, end) if diff.rows[at].new), 0)
        found.append(Span(old, same + hunk.removed, new, same + hunk.added))
    return found


def spans_in(unified: str) -> list[Span]:
    """Of each hunk of a unified diff's text."""
    found: list[Span] = []
    for head in _HEAD.finditer(unified):
        old, new = int(head[2] or 1), int(head[4] or 1)
        found.append(Span(int(head[1]) if old else 0, old, int(head[3]) if new else 0, new))
    return found


def contents_of(diff: Diff) -> list[tuple[tuple[str, str, bool], ...]]:
    """What each hunk changes, whatever line it stands at."""
    marks = [*(hunk.row for hunk in diff.hunks), len(diff.rows)]
    return [
        tuple((row.kind, row.text, row.bare) for row in diff.rows[start:end] if row.kind in ("+", "-"))
        for start, end in pairwise(marks)
    ]


def taken_text(before: str, after: str, spans: Sequence[Span], taken: Collection[int]) -> str:
    """`before` with the taken hunks of `after` in it; all taken, it is `after` to the last byte."""
    if len(taken) == len(spans):
        return after
    old, new = _LINE.findall(before), _LINE.findall(after)
    pieces: list[str] = []
    at = 0
    for index, span in enumerate(spans):
        if index in taken:
            start = max(0, span.old - 1)
            first = max(0, span.new - 1)
            pieces += old[at:start]
            pieces += new[first : first + span.new_count]
            at = start + span.old_count
    return "".join([*pieces, *old[at:]])
