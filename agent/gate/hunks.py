"""A change in pieces that can be taken or left one by one, on text whose pieces join to exactly the same bytes."""

from __future__ import annotations

import re
from collections.abc import Collection

import msgspec

from .lines import Change, changes

CONTEXT = 3
"""Unchanged lines that are shown around a change."""

_LINE = re.compile(r"[^\n]*\n|[^\n]+")


class Hunk(msgspec.Struct, frozen=True):
    """What stands between two `@@` of the unified diff."""

    index: int
    changes: tuple[Change, ...]

    @property
    def added(self) -> int:
        """Lines."""
        return sum(c.b2 - c.b1 for c in self.changes)

    @property
    def removed(self) -> int:
        """Lines."""
        return sum(c.a2 - c.a1 for c in self.changes)


class Split(msgspec.Struct, frozen=True):
    """Both texts in lines, and the hunks between them."""

    old: list[str]
    new: list[str]
    hunks: list[Hunk]

    @property
    def added(self) -> int:
        """Lines of all hunks."""
        return sum(hunk.added for hunk in self.hunks)

    @property
    def removed(self) -> int:
        """Lines of all hunks."""
        return sum(hunk.removed for hunk in self.hunks)


def split(old: str, new: str) -> Split:
    r"""Lines end at `\n` alone, as git has it: a `\r` stays a part of its line and is seen when it changes."""
    a, b = _LINE.findall(old), _LINE.findall(new)
    groups: list[list[Change]] = []
    for change in changes(a, b):
        if groups and change.a1 - groups[-1][-1].a2 <= 2 * CONTEXT:
            groups[-1].append(change)
        else:
            groups.append([change])
    return Split(a, b, [Hunk(i, tuple(group)) for i, group in enumerate(groups)])


def take(parts: Split, chosen: Collection[int]) -> str:
    """The old text with the chosen hunks applied and no others. Raises IndexError for a hunk that does not exist."""
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
