"""A diff as rows. Each row knows its line number on both sides, its hunk, and the line next to which it is shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

import msgspec

RowKind = Literal[
    " ",
    "+",
    "-",
    "head",  # head of a hunk
    "fold",  # fold of unchanged lines
    "open",  # above lines that were unfolded
    "note",
]

_NAMED = re.compile(
    r"^\s*(?:export\s+|pub(?:\([^)]*\))?\s+|public\s+|private\s+|static\s+|async\s+|default\s+)*"
    r"(?:def|class|func|function|fn|struct|enum|trait|impl|interface|module|sub|type|const)\b\s*(?:\([^)]*\)\s*)?([\w.$]+)"
)
_FAR = 400


class Row(msgspec.Struct, frozen=True, gc=False):
    """One line of the diff. Half a million of these objects do not slow the garbage collector."""

    kind: RowKind
    old: int
    """Line number in the old text, from 1, or 0 if the line does not exist there."""
    new: int
    text: str
    """The line as in the file, without its line feed; for a fold, the number of lines."""
    hunk: int
    """Index of the hunk, or -1 outside of all hunks."""
    beside: int = 0
    """Offset to the row next to which this one is shown side by side, or 0 if it is shown alone.

    For a removed line, the line that replaced it is this many rows below. For an added line, the line that it replaced
    is above, so the number is negative.
    """
    lead: int = 0
    """Number of added lines without a partner directly above the line that replaced this removed line."""
    bare: bool = False
    """This is the last line, it has no line feed, and the last line of the other side has one."""


class Hunk(msgspec.Struct, gc=False):
    """Changes that belong together. It holds no reference to its owner, so the garbage collector can ignore it."""

    index: int
    known_name: str = ""
    lines: Sequence[str] = ()
    """The lines in which its name is searched when the name is first needed; most names are never shown."""
    at: int = 0
    """Index of its first changed line among those."""
    added: int = 0
    removed: int = 0
    row: int = 0
    """Index of its head among the rows."""
    size: int = 0
    """Number of rows, with the head."""

    @property
    def name(self) -> str:
        """The function or class that contains the hunk, or its line."""
        if not self.known_name:
            self.known_name = name_of(self.lines, self.at)
        return self.known_name


class DiffPart(NamedTuple):
    """A piece of a diff as it becomes known: the rows above a hunk, and the hunk, if there is one."""

    above: list[Row]
    hunk: Hunk | None
    rows: list[Row]
    """The rows of the hunk, its head first."""


class DiffSource(Protocol):
    """The contents from which a diff was made."""

    @property
    def is_long(self) -> bool:
        """Whether they are too long to be lexed as a whole."""
        ...

    def sides(self) -> tuple[list[str], list[str]]:
        """Return the lines of both sides as they are shown, for the lexer."""
        ...

    def unchanged(self, start: int, end: int) -> list[str]:
        """Return lines of the old text between two indexes."""
        ...


@dataclass(slots=True)
class Diff:
    """The rows from the top, as far as they are known."""

    path: str
    rows: list[Row] = field(default_factory=list[Row])
    hunks: list[Hunk] = field(default_factory=list[Hunk])
    complete: bool = False
    """No more rows will come."""
    source: DiffSource | None = None
    """The contents, or None if they are not available; then folds stay closed."""
    last_number: int = 0
    """The largest line number."""
    is_one_sided: bool = False
    """All lines were added, or all were removed, so there is nothing to show side by side."""

    @property
    def added(self) -> int:
        """The number of added lines in all known hunks."""
        return sum(hunk.added for hunk in self.hunks)

    @property
    def removed(self) -> int:
        """The number of removed lines in all known hunks."""
        return sum(hunk.removed for hunk in self.hunks)

    def add(self, stretches: Iterable[DiffPart]) -> None:
        """Append rows that became known."""
        for above, hunk, rows in stretches:
            self.rows += above
            if hunk is not None:
                hunk.row, hunk.size = len(self.rows), len(rows)
                self.hunks.append(hunk)
                self.rows += rows

    def partner(self, index: int) -> int | None:
        """Return the row of the line that replaced this one, or that this one replaced."""
        row = self.rows[index]
        other = index + row.beside
        if other == index or (row.kind == "+" and self.rows[other].beside != -row.beside):
            return None
        return other

    def folds_of(self, hunk: int) -> list[int]:
        """Return the rows of the folds above and below a hunk, also of open ones."""
        if not 0 <= hunk < len(self.hunks):
            return []
        mine = self.hunks[hunk]
        below = mine.row + mine.size
        above = range(self.hunks[hunk - 1].row + self.hunks[hunk - 1].size if hunk else 0, mine.row)
        first = next((row for row in above if self.rows[row].kind != "note"), mine.row)
        found = [first, below] if first < mine.row else [below]
        return [row for row in found if row < len(self.rows) and self.rows[row].kind in ("fold", "open")]

    def unfold(self, index: int) -> int:
        """Open the fold at this row. Return how many rows were added below it, or 0 if it cannot be opened."""
        fold = self.rows[index]
        if fold.kind != "fold" or self.source is None:
            return 0
        self.rows[index : index + 1] = self._unfolded(fold)
        self._shift(index, int(fold.text))
        return int(fold.text)

    def fold(self, index: int) -> int:
        """Close the fold at this row. Return how many rows below it were removed."""
        opened = self.rows[index]
        if opened.kind != "open":
            return 0
        count = int(opened.text)
        self.rows[index : index + 1 + count] = [_closed(opened)]
        self._shift(index, -count)
        return count

    def unfold_all(self) -> None:
        """Open every fold whose lines are available."""
        if self.source is not None:
            self._rebuild([one for row in self.rows for one in (self._unfolded(row) if row.kind == "fold" else (row,))])

    def fold_all(self) -> None:
        """Close every fold that was opened."""
        rows: list[Row] = []
        at = 0
        while at < len(self.rows):
            row = self.rows[at]
            is_open = row.kind == "open"
            rows.append(_closed(row) if is_open else row)
            at += 1 + int(row.text) if is_open else 1
        self._rebuild(rows)

    def _unfolded(self, fold: Row) -> list[Row]:
        assert self.source is not None
        lines = self.source.unchanged(fold.old - 1, fold.old - 1 + int(fold.text))
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
    """Return the function or class around a line (index from 0), or `line N`."""
    if at < len(lines):
        depth = _depth(lines[at]) if lines[at].strip() else 1_000
        for index in range(min(at, len(lines) - 1), max(-1, at - _FAR), -1):
            match = _NAMED.match(lines[index])
            if match and (index == at or _depth(lines[index]) < depth):
                return match[1]
    return f"line {at + 1}"


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
