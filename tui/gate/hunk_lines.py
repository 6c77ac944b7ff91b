"""Find the lines of each hunk, so that the gate accepts what is chosen on the screen. Does not import textual."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ..diff.diff_rows import Diff, Row

_HEAD = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.M)


class Span(NamedTuple):
    """The lines of a hunk with the unchanged ones around it; from 1, and 0 if there are none."""

    old: int
    old_count: int
    new: int
    new_count: int


def spans_of(diff: Diff) -> list[Span]:
    """Return the span of each hunk that is shown."""
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
    """Return the span of each hunk in the text of a unified diff."""
    found: list[Span] = []
    for head in _HEAD.finditer(unified):
        old, new = int(head[2] or 1), int(head[4] or 1)
        found.append(Span(int(head[1]) if old else 0, old, int(head[3]) if new else 0, new))
    return found


def contents_of(diff: Diff) -> list[tuple[tuple[str, str, bool], ...]]:
    """Return what each hunk changes, independent of its place, with a gap for unchanged lines between its changes."""
    marks = [*(hunk.row for hunk in diff.hunks), len(diff.rows)]
    return [tuple(_changes(diff.rows[start:end])) for start, end in pairwise(marks)]


def _changes(rows: Sequence[Row]) -> Iterator[tuple[str, str, bool]]:
    is_apart = has_any = False
    for row in rows:
        if row.kind in ("+", "-"):
            if is_apart and has_any:
                yield " ", "", False
            is_apart, has_any = False, True
            yield row.kind, row.text, row.bare
        else:
            is_apart = True
