"""Merge two changes of one text: join what does not overlap, mark overlaps with both sides and the base.

By the rule of diff3, two changes overlap unless an unchanged line stands between them. The libraries do not fit:
merge3 is GPL, three-merge is no longer maintained, and git may be missing.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from ..host.file_errors import UnreadableFile, WriteFailed
from ..protocol.text.changed_lines import Change, find_changes

if TYPE_CHECKING:
    from ..host.files.file_states import FileState

OPEN, BASE, MIDDLE, CLOSE = "<<<<<<< on disk", "||||||| before", "=======", ">>>>>>> proposed"
"""Marker lines of an overlap, as in git: before each side, before the base, and at the end."""

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_MARK = re.compile(rf"^(?:{re.escape(OPEN)}|{re.escape(CLOSE)})\r?$", re.MULTILINE)
_ENDS = ("\n", "\r\n", "\r")


class Merged(msgspec.Struct, frozen=True):
    """Result of a merge: one text with both changes."""

    text: str
    overlaps: int
    """Number of overlaps that are marked in the text. 0 means a clean merge."""


def merge(base: str, disk: str, proposed: str) -> Merged:
    """Merge the changes that `disk` and `proposed` made to `base`."""
    old, ours, theirs = (_LINE.findall(text) for text in (base, disk, proposed))
    left, right = deque(find_changes(old, ours)), deque(find_changes(old, theirs))
    out: list[str] = []
    overlaps = at = 0
    while left or right:
        group, (low, high) = _group(left, right)
        out += old[at:low]
        one, two = _side(old, ours, group[0], low, high), _side(old, theirs, group[1], low, high)
        if not group[1] or one == two:
            out += one
        elif not group[0]:
            out += two
        else:
            overlaps += 1
            out += _marked(one, old[low:high], two)
        at = high
    return Merged("".join([*out, *old[at:]]), overlaps)


def merge_states(base: FileState, now: FileState, proposed: bytes) -> tuple[bytes, int] | None:
    """Return the merged bytes in the file's current encoding and line ends, and the number of overlaps.

    None if any of the three is not text.
    """
    try:
        old, disk = base.text(), now.text()
        new = proposed.decode(base.encoding)[len(base.bom.decode(base.encoding)) :]
        if base.newline != now.newline and base.newline in _ENDS and now.newline in _ENDS:
            old, new = (text.replace(base.newline, now.newline) for text in (old, new))
        merged = merge(old, disk, new)
        return now.encode(merged.text), merged.overlaps
    except (UnreadableFile, UnicodeDecodeError, WriteFailed):
        return None


def marked_line(text: str) -> int | None:
    """Return the number of the first line that is an overlap's marker, 1-based; None if there is none."""
    found = _MARK.search(text)
    return None if found is None else text.count("\n", 0, found.start()) + 1


def _group(left: deque[Change], right: deque[Change]) -> tuple[tuple[list[Change], list[Change]], tuple[int, int]]:
    """Remove the next touching changes from both lists, and return them with the base lines that they span."""
    low = min(side[0].a1 for side in (left, right) if side)
    high = low
    taken: tuple[list[Change], list[Change]] = ([], [])
    grew = True
    while grew:
        grew = False
        for side, mine in ((left, taken[0]), (right, taken[1])):
            while side and side[0].a1 <= high:
                mine.append(side.popleft())
                high = max(high, mine[-1].a2)
                grew = True
    return taken, (low, high)


def _side(old: Sequence[str], new: Sequence[str], group: Sequence[Change], low: int, high: int) -> Sequence[str]:
    """Return one side's version of these base lines."""
    if not group:
        return old[low:high]
    first, last = group[0], group[-1]
    return new[first.b1 - (first.a1 - low) : last.b2 + (high - last.a2)]


def _marked(disk: Sequence[str], base: Sequence[str], proposed: Sequence[str]) -> list[str]:
    parts = ((OPEN, disk), (BASE, base), (MIDDLE, proposed))
    lines = [line for mark, side in parts for line in (f"{mark}\n", *_ended(side))]
    return [*lines, f"{CLOSE}\n"]


def _ended(lines: Sequence[str]) -> list[str]:
    """End the last line with a line feed, because the marker after it needs its own line."""
    if lines and lines[-1][-1:] not in ("\r", "\n"):
        return [*lines[:-1], lines[-1] + "\n"]
    return list(lines)
