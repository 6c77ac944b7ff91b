"""A diff as rows: each knows its numbers on both sides, its hunk, and the row that it became."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from .compare import Change, compare

CONTEXT = 3
"""Unchanged lines that are shown around a change."""
_NAMED = re.compile(
    r"^\s*(?:export\s+|pub(?:\([^)]*\))?\s+|public\s+|private\s+|static\s+|async\s+|default\s+)*"
    r"(?:def|class|func|function|fn|struct|enum|trait|impl|interface|module|sub|type|const)\b\s*(?:\([^)]*\)\s*)?([\w.$]+)"
)
_FAR = 400
_WORD = re.compile(r"\w+|[^\w\s]")
_ALIKE = 0.5
_MOST_PAIRS = 400


class Row(NamedTuple):
    """One line of the diff."""

    kind: str
    """` `, `+`, `-`; `head` of a hunk, `fold` of unchanged lines, `note` about the file."""
    old: int
    """Line number in the old text, from 1; 0: it is not there."""
    new: int
    text: str
    """As in the file, without its line feed."""
    hunk: int
    """Index of the hunk; -1: outside of any."""


@dataclass(slots=True)
class Hunk:
    """Changes that stand together."""

    index: int
    row: int
    """Index of its head among the rows."""
    find_name: Callable[[], str]
    added: int = 0
    removed: int = 0
    _name: str | None = None

    @property
    def name(self) -> str:
        """The function or class that it is in, or its line. Looked for when first asked: most are never seen."""
        if self._name is None:
            self._name = self.find_name()
        return self._name


@dataclass(slots=True)
class Diff:
    """All rows, top to bottom."""

    path: str
    rows: list[Row] = field(default_factory=list[Row])
    hunks: list[Hunk] = field(default_factory=list[Hunk])
    partner: dict[int, int] = field(default_factory=dict[int, int])
    """Row of a removed line to the row of the line that took its place, and back."""
    whole: bool = False
    """The rows' numbers are those of whole files that are at hand."""

    @property
    def added(self) -> int:
        """Lines."""
        return sum(hunk.added for hunk in self.hunks)

    @property
    def removed(self) -> int:
        """Lines."""
        return sum(hunk.removed for hunk in self.hunks)

    def pair(self, removed: Sequence[int], added: Sequence[int]) -> None:
        """Removed rows and those that follow in their place: as they stand, or by likeness where the numbers differ."""
        pairs = zip(removed, added, strict=False)
        if len(removed) != len(added) and len(removed) * len(added) <= _MOST_PAIRS:
            pairs = self._alike(removed, added)
        for left, right in pairs:
            self.partner[left] = right
            self.partner[right] = left

    def _alike(self, removed: Sequence[int], added: Sequence[int]) -> Iterator[tuple[int, int]]:
        start = 0
        words = [set(_WORD.findall(self.rows[row].text)) for row in added]
        for left in removed:
            mine = set(_WORD.findall(self.rows[left].text))
            best, at = max(((_likeness(mine, words[n]), -n) for n in range(start, len(added))), default=(0.0, 0))
            if best >= _ALIKE:
                yield left, added[-at]
                start = 1 - at


def diff_of(path: str, before: bytes | None, after: bytes | None, *, full: bool = False) -> Diff:
    """The diff of two contents; None: there is no such file. `full` shows the unchanged lines too."""
    diff = Diff(path, whole=True)
    if any(_is_binary(side) for side in (before, after)):
        diff.rows.append(Row("note", 0, 0, f"binary: {_size(before)} before, {_size(after)} after", -1))
        return diff
    old, new, notes = lines_of(before, after)
    changes = compare(old, new)
    diff.rows.extend(Row("note", 0, 0, note, -1) for note in notes)
    _fill(diff, old, new, changes, len(old) + len(new) if full else CONTEXT)
    return diff


def name_of(lines: Sequence[str], at: int) -> str:
    """The function or class around a line (index from 0), or `line N`."""
    if at < len(lines):
        depth = _depth(lines[at]) if lines[at].strip() else 1_000
        for index in range(min(at, len(lines) - 1), max(-1, at - _FAR), -1):
            match = _NAMED.match(lines[index])
            if match and (index == at or _depth(lines[index]) < depth):
                return match[1]
    return f"line {at + 1}"


def _fill(diff: Diff, old: list[str], new: list[str], changes: list[Change], context: int) -> None:
    shown_a = 0
    for index, group in enumerate(_groups(changes, context)):
        start = max(shown_a, group[0].a0 - context)
        shift = group[0].b0 - group[0].a0
        _fold(diff, shown_a, start, shown_a + shift)
        side, at = (new, group[0].b0) if group[0].b1 > group[0].b0 else (old, group[0].a0)
        hunk = Hunk(index, len(diff.rows), partial(name_of, side, at))
        diff.hunks.append(hunk)
        diff.rows.append(Row("head", 0, 0, "", index))
        at_a = start
        for change in group:
            shift = change.b0 - change.a0
            diff.rows.extend(Row(" ", n + 1, n + shift + 1, old[n], index) for n in range(at_a, change.a0))
            _change(diff, old, new, change, hunk)
            at_a = change.a1
        last = group[-1]
        shown_a = min(len(old), last.a1 + context)
        shift = last.b1 - last.a1
        diff.rows.extend(Row(" ", n + 1, n + shift + 1, old[n], index) for n in range(at_a, shown_a))
    _fold(diff, shown_a, len(old), shown_a + len(new) - len(old))


def _change(diff: Diff, old: list[str], new: list[str], change: Change, hunk: Hunk) -> None:
    first = len(diff.rows)
    diff.rows.extend(Row("-", n + 1, 0, old[n], hunk.index) for n in range(change.a0, change.a1))
    middle = len(diff.rows)
    diff.rows.extend(Row("+", 0, n + 1, new[n], hunk.index) for n in range(change.b0, change.b1))
    diff.pair(range(first, middle), range(middle, len(diff.rows)))
    hunk.removed += change.a1 - change.a0
    hunk.added += change.b1 - change.b0


def _fold(diff: Diff, start: int, end: int, new_start: int) -> None:
    if end > start:
        diff.rows.append(Row("fold", start + 1, new_start + 1, str(end - start), -1))


def _groups(changes: list[Change], context: int) -> list[list[Change]]:
    groups: list[list[Change]] = []
    for change in changes:
        if groups and change.a0 - groups[-1][-1].a1 <= 2 * context:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def lines_of(before: bytes | None, after: bytes | None) -> tuple[list[str], list[str], list[str]]:
    """The lines of both sides, and what is to be said about them as files."""
    old, new = _decode(before), _decode(after)
    notes: list[str] = []
    if before is None:
        notes.append("new file")
    if after is None:
        notes.append("deleted")
    ends = [_ending(text) for text in (old, new) if text is not None]
    if len(ends) == 2 and before and after and ends[0] != ends[1]:
        notes.append(f"line endings: {ends[0]} before, {ends[1]} after")
    if len(ends) == 2 and before and after and old is not None and new is not None:
        left, right = old.endswith("\n"), new.endswith("\n")
        if left != right:
            notes.append("the last line feed is gone" if left else "the last line has a line feed now")
    mixed = "mixed" in ends
    return _split(old, keep_cr=mixed), _split(new, keep_cr=mixed), notes


def _split(text: str | None, *, keep_cr: bool) -> list[str]:
    if not text:
        return []
    lines = text.removesuffix("\n").split("\n")
    return lines if keep_cr else [line.removesuffix("\r") for line in lines]


def _ending(text: str) -> str:
    feeds, both = text.count("\n"), text.count("\r\n")
    return "LF" if not both else "CRLF" if both == feeds else "mixed"


def _decode(data: bytes | None) -> str | None:
    if data is None:
        return None
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _is_binary(data: bytes | None) -> bool:
    return data is not None and not data.startswith((b"\xff\xfe", b"\xfe\xff")) and b"\0" in data[:8_000]


def _size(data: bytes | None) -> str:
    return "nothing" if data is None else f"{len(data):,} bytes".replace(",", " ")


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _likeness(left: set[str], right: set[str]) -> float:
    return len(left & right) / max(1, len(left | right))
