"""Split a change into hunks that are accepted or skipped one by one. Their lines join to exactly the same bytes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

import msgspec

from .changed_lines import Change, iter_changes

CONTEXT = 3
"""Unchanged lines that are shown around a change."""

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_OTHER_ENDS = "\v\f\x1c\x1d\x1e\x85\u2028\u2029"
"""Characters that end a line for `splitlines` but not for git."""


class Hunk(msgspec.Struct, frozen=True):
    """One section between two `@@` lines of the unified diff."""

    index: int
    changes: tuple[Change, ...]
    floor: int = 0
    """First old line that may be shown above it. If a hunk was split, the part above ends there."""
    ceiling: int | None = None
    """Old line at which the next part begins. None means that the hunk was not split, or this is its last part."""

    def around(self, count: int) -> tuple[int, int]:
        """Return the old lines that are shown with it, of `count` lines in the whole text."""
        limit = count if self.ceiling is None else self.ceiling
        return max(self.floor, self.changes[0].a1 - CONTEXT), min(limit, self.changes[-1].a2 + CONTEXT)

    @property
    def added(self) -> int:
        """Return the number of added lines of all changes."""
        return sum(c.b2 - c.b1 for c in self.changes)

    @property
    def removed(self) -> int:
        """Return the number of removed lines of all changes."""
        return sum(c.a2 - c.a1 for c in self.changes)


class Sides(msgspec.Struct, frozen=True):
    """Two texts as lines with their line feeds. The garbage collector does not track tuples of strings."""

    old: tuple[str, ...]
    new: tuple[str, ...]

    def compare(self) -> Iterator[Hunk]:
        """Yield the hunks from the top, each as soon as it is known, so that a long text's first hunks can be shown."""
        group: list[Change] = []
        index = 0
        for change in iter_changes(self.old, self.new):
            if group and change.a1 - group[-1].a2 > 2 * CONTEXT:
                yield Hunk(index, tuple(group))
                group, index = [], index + 1
            group.append(change)
        if group:
            yield Hunk(index, tuple(group))


class Split(msgspec.Struct, frozen=True):
    """Both texts as lines, and the hunks between them."""

    old: tuple[str, ...]
    new: tuple[str, ...]
    hunks: list[Hunk]

    @property
    def added(self) -> int:
        """Number of added lines in all hunks."""
        return sum(hunk.added for hunk in self.hunks)

    @property
    def removed(self) -> int:
        """Number of removed lines in all hunks."""
        return sum(hunk.removed for hunk in self.hunks)


def sides_of(old: str, new: str) -> Sides:
    r"""Split both texts at `\n` only, as git does: a `\r` belongs to its line, so a change of it is visible."""
    return Sides(_lines(old), _lines(new))


def split(old: str, new: str) -> Split:
    """Split both texts into the lines of `sides_of`, and find all hunks between them."""
    sides = sides_of(old, new)
    return Split(sides.old, sides.new, list(sides.compare()))


def apply_hunks(parts: Split, chosen: Collection[int]) -> str:
    """Return the old text with only the chosen hunks applied. Raises IndexError for a hunk that does not exist."""
    unknown = set(chosen) - {hunk.index for hunk in parts.hunks}
    if unknown:
        raise IndexError(f"there is no hunk {min(unknown)}: there are {len(parts.hunks)}")
    pieces: list[str] = []
    at = 0
    for hunk in parts.hunks:
        if hunk.index not in chosen:
            continue
        for change in hunk.changes:
            pieces += parts.old[at : change.a1]
            pieces += parts.new[change.b1 : change.b2]
            at = change.a2
    return "".join([*pieces, *parts.old[at:]])


def hunk_text(parts: Split, only: Collection[int] | None = None) -> str:
    """Return the `@@` sections: all of them, or only the given ones."""
    wanted = [hunk for hunk in parts.hunks if only is None or hunk.index in only]
    return "".join(line for hunk in wanted for line in hunk_lines(parts, hunk))


def _lines(text: str) -> tuple[str, ...]:
    lone = "\r" in text and text.count("\r") != text.count("\r\n")
    if lone or any(end in text for end in _OTHER_ENDS):
        return tuple(_LINE.findall(text))
    return tuple(text.splitlines(keepends=True))  # twice as fast: saves 60 ms for 50,000 hunks


def hunk_lines(parts: Split, hunk: Hunk) -> Iterator[str]:
    """Yield the lines of one section with their marks and line feeds, the one with `@@` first."""
    first, last = hunk.changes[0], hunk.changes[-1]
    a1, a2 = hunk.around(len(parts.old))
    b1 = max(0, first.b1 - (first.a1 - a1))
    b2 = last.b2 + (a2 - last.a2)
    yield f"@@ -{_range(a1, a2)} +{_range(b1, b2)} @@\n"
    at = a1
    for change in hunk.changes:
        yield from (_marked(" ", line) for line in parts.old[at : change.a1])
        yield from (_marked("-", line) for line in parts.old[change.a1 : change.a2])
        yield from (_marked("+", line) for line in parts.new[change.b1 : change.b2])
        at = change.a2
    yield from (_marked(" ", line) for line in parts.old[at:a2])


def _range(start: int, end: int) -> str:
    length = end - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _marked(mark: str, line: str) -> str:
    return mark + line if line.endswith("\n") else f"{mark}{line}\n\\ No newline at end of file\n"
