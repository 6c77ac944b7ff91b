"""Split hunks further: at their unchanged lines, and a single change into its rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from ..protocol.text.changed_lines import Change
from ..protocol.text.counts import plural
from ..protocol.text.hunks import Hunk, Sides, Split, apply_hunks, sides_of

Cuts = Mapping[int, Sequence[int]]
"""Index of a hunk to the rows at which the smaller hunks in it begin, in order, without row 0 of the first one.

A row is a removed line with the added line that takes its place, or one of them alone.
"""
MOST_ROWS = 400
"""A change with more rows is not split into single rows."""


def cut_hunks(sides: Sides, hunks: Iterable[Hunk], cuts: Cuts) -> Iterator[Hunk]:
    """Yield the hunks after these cuts, numbered from 0. Raises IndexError for a cut that is not possible."""
    index = 0
    for hunk in hunks:
        for changes, floor, ceiling in _smaller(sides, hunk, cuts.get(hunk.index, ())):
            yield Hunk(index, changes, floor, ceiling)
            index += 1


def cut(change: Split, cuts: Cuts) -> Split:
    """Return the change with its hunks split further. Raises IndexError for a cut that is not possible."""
    unknown = sorted(set(cuts) - {hunk.index for hunk in change.hunks})
    if unknown:
        raise IndexError(f"hunk {unknown[0]} cannot be split: the change has {plural(len(change.hunks), 'hunk')}")
    return Split(change.old, change.new, list(cut_hunks(Sides(change.old, change.new), change.hunks, cuts)))


def finer_cuts(sides: Sides, cuts: Cuts, number: int) -> tuple[int, list[int]] | str:
    """Return which uncut hunk contains the hunk `number`, and its cuts after that hunk was split once more.

    `number` counts the hunks after `cuts`, from 0. If the hunk cannot be split, returns the reason as a text.
    """
    first = 0
    for hunk in sides.compare():
        starts = [0, *cuts.get(hunk.index, ())]
        if number < first + len(starts):
            rows = _rows(sides, hunk)
            end = [*starts[1:], len(rows)][number - first]
            added = _between(rows, starts[number - first], end)
            return added if isinstance(added, str) else (hunk.index, sorted({*starts[1:], *added}))
        first += len(starts)
    return f"there is no hunk {number + 1}"


def apply_cut_hunks(before: str, after: str, cuts: Cuts, chosen: Sequence[int]) -> str:
    """Return the old text with only the chosen hunks applied. Raises IndexError for one that does not exist."""
    sides = sides_of(before, after)
    return apply_hunks(Split(sides.old, sides.new, list(cut_hunks(sides, sides.compare(), cuts))), chosen)


def _between(rows: Sequence[Change], start: int, end: int) -> list[int] | str:
    """Return the rows between which a hunk is split: where lines are unchanged, otherwise everywhere."""
    gaps = [at for at in range(start + 1, end) if rows[at].a1 > rows[at - 1].a2]
    if gaps:
        return gaps
    if end - start == 1:
        return "this is a single change: edit its text instead"
    if end - start > MOST_ROWS:
        return f"this change has {end - start} rows, too many to split: edit its text instead"
    return list(range(start + 1, end))


def _smaller(sides: Sides, hunk: Hunk, starts: Sequence[int]) -> Iterator[tuple[tuple[Change, ...], int, int | None]]:
    """Yield the changes of each smaller hunk, and the old lines between which unchanged ones may be shown around it."""
    if not starts:
        yield hunk.changes, hunk.floor, hunk.ceiling
        return
    rows = _rows(sides, hunk)
    if list(starts) != sorted(set(starts)) or not 0 < starts[0] <= starts[-1] < len(rows):
        raise IndexError(f"hunk {hunk.index} cannot be split at {list(starts)}: it has {plural(len(rows), 'row')}")
    for start, end in pairwise([0, *starts, len(rows)]):
        floor = rows[start - 1].a2 if start else hunk.floor
        ceiling = rows[end].a1 if end < len(rows) else hunk.ceiling
        yield tuple(_joined(rows[start:end])), floor, ceiling


def _joined(rows: Iterable[Change]) -> Iterator[Change]:
    """Join rows that touch, so that a hunk that was not split shows its removed lines above its added ones."""
    held: Change | None = None
    for row in rows:
        if held is not None and held.a2 == row.a1 and held.b2 == row.b1:
            held = Change(held.a1, row.a2, held.b1, row.b2)
            continue
        if held is not None:
            yield held
        held = row
    if held is not None:
        yield held


def _rows(sides: Sides, hunk: Hunk) -> list[Change]:
    """Return the rows of all changes of a hunk. A line without a line feed is the last one of its change."""
    return [row for change in hunk.changes for row in _rows_of(sides, change)]


def _rows_of(sides: Sides, change: Change) -> Iterator[Change]:
    a, b = change.a1, change.b1
    while a < change.a2 or b < change.b2:
        next_a, next_b = min(a + 1, change.a2), min(b + 1, change.b2)
        if _is_bare(sides.old, a, next_a) or _is_bare(sides.new, b, next_b):
            next_a, next_b = change.a2, change.b2
        yield Change(a, next_a, b, next_b)
        a, b = next_a, next_b


def _is_bare(lines: Sequence[str], start: int, end: int) -> bool:
    return end > start and not lines[start].endswith("\n")
