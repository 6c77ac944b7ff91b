"""A diff as rows: each knows its numbers on both sides, its hunk, and what it stands beside."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

_NAMED = re.compile(
    r"^\s*(?:export\s+|pub(?:\([^)]*\))?\s+|public\s+|private\s+|static\s+|async\s+|default\s+)*"
    r"(?:def|class|func|function|fn|struct|enum|trait|impl|interface|module|sub|type|const)\b\s*(?:\([^)]*\)\s*)?([\w.$]+)"
)
_FAR = 400


class Row(msgspec.Struct, frozen=True, gc=False):
    """One line of the diff. Half a million of them are no load for the garbage collector."""

    kind: str
    """` `, `+`, `-`; `head` of a hunk; `fold` of unchanged lines, `open` above those that were unfolded; `note`."""
    old: int
    """Line number in the old text, from 1; 0: it is not there."""
    new: int
    text: str
    """As in the file, without its line feed; the number of lines of a fold."""
    hunk: int
    """Index of the hunk; -1: outside of any."""
    beside: int = 0
    """Of a removed line: so many rows below stands the line that took its place. Of an added one: so many rows above
    (a negative number) is the one with which it is drawn side by side. 0: it stands alone."""
    lead: int = 0
    """Added lines without a place of their own, right above the one that took this removed line's place."""
    bare: bool = False
    """It is the last, it has no line feed, and the other side's last has one."""


class Hunk(msgspec.Struct, gc=False):
    """Changes that stand together. Holds nothing that could hold it: the garbage collector does not look at it."""

    index: int
    known_name: str = ""
    lines: Sequence[str] = ()
    """Where its name is looked for when it is first asked: most are never seen."""
    at: int = 0
    """Its first changed line among those."""
    added: int = 0
    removed: int = 0
    row: int = 0
    """Index of its head among the rows."""
    size: int = 0
    """Rows, head included."""

    @property
    def name(self) -> str:
        """The function or class that it is in, or its line."""
        if not self.known_name:
            self.known_name = name_of(self.lines, self.at)
        return self.known_name


class Stretch(NamedTuple):
    """A piece of a diff, as it becomes known: what stands above a hunk, and the hunk, if there is one."""

    above: list[Row]
    hunk: Hunk | None
    rows: list[Row]
    """Of the hunk, its head first."""


@dataclass(slots=True)
class Diff:
    """The rows from the top, as far as they are known."""

    path: str
    rows: list[Row] = field(default_factory=list[Row])
    hunks: list[Hunk] = field(default_factory=list[Hunk])
    complete: bool = False
    """No more rows will come."""
    texts: Callable[[], tuple[list[str], list[str]]] | None = None
    """The lines of both sides, as they are shown, to be lexed; None: not at hand, or too much."""
    unchanged: Callable[[int, int], list[str]] | None = None
    """Lines of the old text, from one index to another; None: they are not at hand, and folds stay closed."""
    last_number: int = 0
    """No line number is larger."""
    is_one_sided: bool = False
    """All of it was added, or all removed: there is nothing to put side by side."""

    @property
    def added(self) -> int:
        """Lines."""
        return sum(hunk.added for hunk in self.hunks)

    @property
    def removed(self) -> int:
        """Lines."""
        return sum(hunk.removed for hunk in self.hunks)

    def add(self, stretches: Iterable[Stretch]) -> None:
        """What came to be known, below the rest."""
        for above, hunk, rows in stretches:
            self.rows += above
            if hunk is not None:
                hunk.row, hunk.size = len(self.rows), len(rows)
                self.hunks.append(hunk)
                self.rows += rows

    def partner(self, index: int) -> int | None:
        """The row of the line that took this one's place, or whose place it took."""
        row = self.rows[index]
        other = index + row.beside
        if other == index or (row.kind == "+" and self.rows[other].beside != -row.beside):
            return None
        return other

    def folds_of(self, hunk: int) -> list[int]:
        """Rows of the folds above and below a hunk, open ones too."""
        if not 0 <= hunk < len(self.hunks):
            return []
        mine = self.hunks[hunk]
        below = mine.row + mine.size
        above = range(self.hunks[hunk - 1].row + self.hunks[hunk - 1].size if hunk else 0, mine.row)
        first = next((row for row in above if self.rows[row].kind != "note"), mine.row)
        found = [first, below] if first < mine.row else [below]
        return [row for row in found if row < len(self.rows) and self.rows[row].kind in ("fold", "open")]

    def unfold(self, index: int) -> int:
        """Open the fold at this row; how many rows came below it. 0: it cannot be opened."""
        fold = self.rows[index]
        if fold.kind != "fold" or self.unchanged is None:
            return 0
        self.rows[index : index + 1] = self._unfolded(fold)
        self._shift(index, int(fold.text))
        return int(fold.text)

    def fold(self, index: int) -> int:
        """Close what was opened at this row; how many rows below it went."""
        opened = self.rows[index]
        if opened.kind != "open":
            return 0
        count = int(opened.text)
        self.rows[index : index + 1 + count] = [_closed(opened)]
        self._shift(index, -count)
        return count

    def unfold_all(self) -> None:
        """Open every fold."""
        if self.unchanged is not None:
            self._rebuild([one for row in self.rows for one in (self._unfolded(row) if row.kind == "fold" else (row,))])

    def fold_all(self) -> None:
        """Close every fold."""
        rows: list[Row] = []
        at = 0
        while at < len(self.rows):
            row = self.rows[at]
            is_open = row.kind == "open"
            rows.append(_closed(row) if is_open else row)
            at += 1 + int(row.text) if is_open else 1
        self._rebuild(rows)

    def _unfolded(self, fold: Row) -> list[Row]:
        assert self.unchanged is not None
        lines = self.unchanged(fold.old - 1, fold.old - 1 + int(fold.text))
        shift = fold.new - fold.old
        rows = [Row(" ", number, number + shift, text, -1) for number, text in enumerate(lines, fold.old)]
        return [Row("open", fold.old, fold.new, fold.text, -1), *rows]

    def _rebuild(self, rows: list[Row]) -> None:
        self.rows = rows
        heads = (index for index, row in enumerate(rows) if row.kind == "head")
        for hunk, index in zip(self.hunks, heads, strict=True):
            hunk.row = index

    def _shift(self, index: int, by: int) -> None:
        for hunk in reversed(self.hunks):
            if hunk.row < index:
                break
            hunk.row += by


def _closed(opened: Row) -> Row:
    return Row("fold", opened.old, opened.new, opened.text, -1)


def name_of(lines: Sequence[str], at: int) -> str:
    """The function or class around a line (index from 0), or `line N`."""
    if at < len(lines):
        depth = _depth(lines[at]) if lines[at].strip() else 1_000
        for index in range(min(at, len(lines) - 1), max(-1, at - _FAR), -1):
            match = _NAMED.match(lines[index])
            if match and (index == at or _depth(lines[index]) < depth):
                return match[1]
    return f"line {at + 1}"


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
