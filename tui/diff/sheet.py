"""The rows of a diff, drawn: numbers, signs, colours, changed words. One row at a time, as they come into sight."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from rich.style import Style

from ..lines import Run, fold, marked
from ..lines.draw import shorten, width_of
from ..text import show
from ..theme import Palette
from .code import painted
from .colours import Colours, HunkColours
from .column import NONE, Column, beside
from .model import Diff, Row
from .words import Spans, changed_words

Lines = list[list[Run]]
_BOLD = Style(bold=True)
_SHORT = 1_000
"""Characters up to which a line is taken to be drawn as long as it is."""


@dataclass(slots=True)
class HunkMark:
    """What the person made of a hunk."""

    taken: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Look:
    """How rows are to be drawn."""

    width: int
    palette: Palette
    marks: Mapping[int, HunkMark] = field(default_factory=dict[int, HunkMark])
    current: int = -1
    """Index of the current hunk."""
    near: tuple[int, ...] = ()
    """Rows of the folds around the current hunk."""
    split: bool = False
    """Old on the left, new on the right."""


class Sheet:
    """Draws the rows of one diff."""

    def __init__(self, diff: Diff, colours: Colours | None = None) -> None:
        self.diff = diff
        self.colours = colours or HunkColours(diff)
        self.digits = max(3, len(str(diff.last_number)))

    def margin(self, *, split: bool) -> int:
        """Cells left of a line's text: its numbers and the sign."""
        return self.digits + 4 if split else 2 * self.digits + 6

    def draw(self, index: int, width: int, palette: Palette, marks: Mapping[int, HunkMark], current: int = -1) -> Lines:
        """The row at `index` in lines of `width` cells; wrapped, never cut."""
        parts = self.parts(index, Look(width, palette, marks, current))
        return [line for draw, _ in parts for line in draw()]

    def parts(self, index: int, look: Look) -> list[tuple[Callable[[], Lines], int]]:
        """The pieces in which the row is drawn, each with a guess of its lines. None: it stands beside another."""
        row = self.diff.rows[index]
        match row.kind:
            case "head":
                return [(lambda: self._head(row, look), 1)]
            case "fold" | "open":
                return [(lambda: [self._fold(index, row, look)], 1)]
            case "note":
                text = [("   ", NONE), *marked(show(row.text), look.palette.dim, look.palette.mark)]
                return [(lambda: fold(text, look.width), 1)]
            case _:
                return self._halves(index, row, look) if look.split else self._line(index, row, look)

    # lines of the file

    def _line(self, index: int, row: Row, look: Look) -> list[tuple[Callable[[], Lines], int]]:
        numbers = f" {row.old or '':>{self.digits}} {row.new or '':>{self.digits}} "
        column = self._column(index, row, numbers, look.width, look.palette, gap=" ")
        each = column.guess // column.parts
        return [(partial(column.draw, part), each) for part in range(column.parts)]

    def _halves(self, index: int, row: Row, look: Look) -> list[tuple[Callable[[], Lines], int]]:
        if row.kind == "+" and row.beside:
            return []
        if row.kind == " ":
            return self._pair(index, index, look)
        if row.kind == "+":
            return self._pair(None, index, look)
        found = [part for lead in range(row.lead, 0, -1) for part in self._pair(None, index + row.beside - lead, look)]
        return found + self._pair(index, index + row.beside if row.beside else None, look)

    def _pair(self, old: int | None, new: int | None, look: Look) -> list[tuple[Callable[[], Lines], int]]:
        half = (look.width - 1) // 2
        left = self._half(old, half, look.palette, is_old=True)
        right = self._half(new, look.width - 1 - half, look.palette, is_old=False)
        divider = ("│", look.palette.rule)
        count, each = max(left.parts, right.parts), max(left.guess // left.parts, right.guess // right.parts)
        return [(partial(beside, left, right, part, divider), each) for part in range(count)]

    def _half(self, index: int | None, width: int, palette: Palette, *, is_old: bool) -> Column:
        if index is None:
            return Column([], list[Run], 0, width)
        row = self.diff.rows[index]
        return self._column(index, row, f" {row.old if is_old else row.new:>{self.digits}} ", width, palette, gap="")

    def _column(self, index: int, row: Row, numbers: str, width: int, palette: Palette, *, gap: str) -> Column:
        sign, ground = _signs(row.kind, palette)
        head = [(numbers, palette.faint if row.kind == " " else sign[1]), (f"{sign[0]} {gap}", sign[1])]
        size = len(row.text) if len(row.text) <= _SHORT else len(show(row.text))
        return Column(head, partial(self._text, index, row, palette), size, width, ground)

    def _text(self, index: int, row: Row, palette: Palette) -> list[Run]:
        runs = self._words(index, row, palette)
        return [*runs, (" ", NONE), ("⟨no line feed⟩", palette.mark)] if row.bare else runs

    def _words(self, index: int, row: Row, palette: Palette) -> list[Run]:
        other = self.diff.partner(index) if row.beside else None
        if other is None:
            return self._coloured(row, palette)
        partner = self.diff.rows[other]
        mine, theirs = show(row.text), show(partner.text)
        blanks = row.text != partner.text and row.text.split() == partner.text.split()
        if blanks:  # only blanks differ: they have to be seen
            mine, theirs = _with_blanks(row.text), _with_blanks(partner.text)
        old, new = (mine, theirs) if row.kind == "-" else (theirs, mine)
        left, right = changed_words(old, new)
        style = palette.diff_removed_word if row.kind == "-" else palette.diff_added_word
        runs = marked(mine, palette.code, palette.mark) if blanks else self._coloured(row, palette)
        return _over(runs, left if row.kind == "-" else right, style)

    def _coloured(self, row: Row, palette: Palette) -> list[Run]:
        return painted(self.colours.pieces(row), palette)

    def change_within(self, hunk: int, look: Look) -> tuple[int, int]:
        """The first changed row of a hunk, and so many lines of it, wrapped, stand above what changed in it."""
        start, size = self.diff.hunks[hunk].row, self.diff.hunks[hunk].size
        rows = self.diff.rows[start : start + size]
        index = next((start + at for at, row in enumerate(rows) if row.kind in "+-"), start)
        row, other = self.diff.rows[index], self.diff.partner(index) if self.diff.rows[index].beside else None
        if other is None or row.kind != "-" or (look.split and row.lead):
            return index, 0
        spans = changed_words(show(row.text), show(self.diff.rows[other].text))
        first = min((span[0][0] for span in spans if span), default=0)
        width = (look.width - 1) // 2 if look.split else look.width
        return index, first // max(2, width - self.margin(split=look.split))

    # rows over the whole width

    def _fold(self, index: int, row: Row, look: Look) -> list[Run]:
        sign = "⌄" if row.kind == "open" else "⋯"
        return [(f" {sign} {row.text} unchanged", look.palette.dim if index in look.near else look.palette.faint)]

    def _head(self, row: Row, look: Look) -> Lines:
        hunk, palette, mark = self.diff.hunks[row.hunk], look.palette, look.marks.get(row.hunk)
        is_current = row.hunk == look.current
        sign = "" if mark is None else "◉ " if mark.taken else "○ "
        left = [
            (f" {sign}", palette.cursor if is_current else palette.dim),
            *marked(show(hunk.name), palette.bright + _BOLD if is_current else palette.dim, palette.mark),
        ]
        count = f"{row.hunk + 1} of {len(self.diff.hunks)}{'' if self.diff.complete else '+'}"
        right = [(f"  {count} ", palette.dim if is_current else palette.faint)]
        reason: list[Run] = []
        if mark is not None and not mark.taken and mark.reason:
            reason = marked(f'skipped: "{show(mark.reason)}"'.replace("\n", " "), palette.dim, palette.mark)
        if reason and width_of([*left, *reason, *right]) + 2 > look.width:
            indent = " " * (1 + len(sign))
            below = [[(indent, NONE), *line] for line in fold(reason, look.width - len(indent) - 1)]
            return [_apart(left, right, look.width), *below]
        return [_apart(left, [*reason, *right], look.width)]


def _apart(left: list[Run], right: list[Run], width: int) -> list[Run]:
    """To both edges; what is on the left gives way."""
    room = max(0, width - width_of(right) - 2)
    left = left if width_of(left) <= room else shorten(left, room)
    return [*left, (" " * max(0, width - width_of(left) - width_of(right)), NONE), *right]


def _signs(kind: str, palette: Palette) -> tuple[tuple[str, Style], Style]:
    match kind:
        case "+":
            return ("+", palette.diff_added_sign), palette.diff_added
        case "-":
            return ("−", palette.diff_removed_sign), palette.diff_removed
        case _:
            return (" ", NONE), NONE


def _over(runs: list[Run], spans: Spans, style: Style) -> list[Run]:
    """The runs with a style laid over some stretches, in one pass."""
    points = [point for span in spans for point in span]
    found: list[Run] = []
    at = passed = 0
    for text, own in runs:
        while text:
            end = points[passed] - at if passed < len(points) else len(text)
            piece, text = text[:end], text[end:]
            if piece:
                found.append((piece, own + style if passed % 2 else own))
                at += len(piece)
            if passed < len(points) and at == points[passed]:
                passed += 1
    return found


def _with_blanks(text: str) -> str:
    """Tabs as arrows, blanks at either end as dots."""
    body = text.strip(" \t\r")
    start = text.index(body) if body else len(text)
    head, tail = text[:start], text[start + len(body) :]
    seen = [part.replace("\t", "→   ").replace(" ", "·").replace("→···", "→   ") for part in (head, tail)]
    return show(seen[0] + body.replace("\t", "→   ") + seen[1])
