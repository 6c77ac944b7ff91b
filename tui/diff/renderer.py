"""Draw the rows of a diff one at a time: numbers, `+` and `-`, colours, changed words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from rich.style import Style

from ..lines.draw_runs import Run, fold, marked, shorten, width_of
from ..text.show_text import show
from .changed_words import Spans, changed_words
from .code_runs import painted
from .column import NONE, Column, beside
from .line_colours import Colours, HunkColours

if TYPE_CHECKING:
    from ..theme.theme import Palette
    from .diff_rows import Diff, Row

Lines = list[list[Run]]
_BOLD = Style(bold=True)
_SHORT = 1_000
"""Length in characters up to which a line is assumed to need as many cells."""


@dataclass(slots=True)
class HunkMark:
    """Whether the person accepted or skipped a hunk, and why."""

    accepted: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """How rows are drawn."""

    width: int
    palette: Palette
    marks: Mapping[int, HunkMark] = field(default_factory=dict[int, HunkMark])
    current: int = -1
    """Index of the current hunk."""
    near: tuple[int, ...] = ()
    """Rows of the folds around the current hunk."""
    split: bool = False
    """Old text on the left, new text on the right."""


class DiffRenderer:
    """Draws the rows of one diff."""

    def __init__(self, diff: Diff, colours: Colours | None = None) -> None:
        self.diff = diff
        self.colours = colours or HunkColours(diff)
        self.digits = max(3, len(str(diff.last_number)))

    def margin(self, *, split: bool) -> int:
        """Return the number of cells left of a line's text, for its numbers and its `+` or `-`."""
        return self.digits + 4 if split else 2 * self.digits + 6

    def draw(self, index: int, width: int, palette: Palette, marks: Mapping[int, HunkMark], current: int = -1) -> Lines:
        """Return the row at `index` as lines of `width` cells; wrapped, never cut."""
        parts = self.parts(index, RenderOptions(width, palette, marks, current))
        return [line for draw, _ in parts for line in draw()]

    def parts(self, index: int, options: RenderOptions) -> list[tuple[Callable[[], Lines], int]]:
        """Return the parts in which a row is drawn, each with an estimate of its lines.

        Empty: it is shown next to another row.
        """
        row = self.diff.rows[index]
        match row.kind:
            case "head":
                return [(lambda: self._head(row, options), 1)]
            case "fold" | "open":
                return [(lambda: [self._fold(index, row, options)], 1)]
            case "note":
                text = [("   ", NONE), *marked(show(row.text), options.palette.dim, options.palette.mark)]
                return [(lambda: fold(text, options.width), 1)]
            case _:
                return self._halves(index, row, options) if options.split else self._line(index, row, options)

    def _line(self, index: int, row: Row, options: RenderOptions) -> list[tuple[Callable[[], Lines], int]]:
        numbers = f" {row.old or '':>{self.digits}} {row.new or '':>{self.digits}} "
        column = self._column(index, row, numbers, options.width, options, gap=" ")
        each = column.guess // column.parts
        return [(partial(column.draw, part), each) for part in range(column.parts)]

    def _halves(self, index: int, row: Row, options: RenderOptions) -> list[tuple[Callable[[], Lines], int]]:
        if row.kind == "+" and row.beside:
            return []
        if row.kind == " ":
            return self._pair(index, index, options)
        if row.kind == "+":
            return self._pair(None, index, options)
        found = [
            part for lead in range(row.lead, 0, -1) for part in self._pair(None, index + row.beside - lead, options)
        ]
        return found + self._pair(index, index + row.beside if row.beside else None, options)

    def _pair(self, old: int | None, new: int | None, options: RenderOptions) -> list[tuple[Callable[[], Lines], int]]:
        half = (options.width - 1) // 2
        left = self._half(old, half, options, is_old=True)
        right = self._half(new, options.width - 1 - half, options, is_old=False)
        divider = ("│", options.palette.rule)
        count, each = max(left.parts, right.parts), max(left.guess // left.parts, right.guess // right.parts)
        return [(partial(beside, left, right, part, divider), each) for part in range(count)]

    def _half(self, index: int | None, width: int, options: RenderOptions, *, is_old: bool) -> Column:
        if index is None:
            return Column([], list[Run], 0, width)
        row = self.diff.rows[index]
        return self._column(index, row, f" {row.old if is_old else row.new:>{self.digits}} ", width, options, gap="")

    def _column(self, index: int, row: Row, numbers: str, width: int, options: RenderOptions, *, gap: str) -> Column:
        palette, mark = options.palette, options.marks.get(row.hunk)
        sign, ground = _signs(row.kind, palette)
        if mark is not None and not mark.accepted:  # it will not be written
            pale = [(numbers, palette.faint), (f"{sign[0]} {gap}", palette.faint)]
            text = marked(show(row.text), palette.dim, palette.mark)
            return Column(pale, lambda: text, len(row.text), width)
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
        if blanks:  # only blanks differ, so they are made visible
            mine, theirs = _with_blanks(row.text), _with_blanks(partner.text)
        old, new = (mine, theirs) if row.kind == "-" else (theirs, mine)
        left, right = changed_words(old, new)
        style = palette.diff_removed_word if row.kind == "-" else palette.diff_added_word
        runs = marked(mine, palette.code, palette.mark) if blanks else self._coloured(row, palette)
        return _over(runs, left if row.kind == "-" else right, style)

    def _coloured(self, row: Row, palette: Palette) -> list[Run]:
        ground = _signs(row.kind, palette)[1]
        if ground.color is not None:  # with 16 colours the line itself is coloured, and colours of code would hide that
            return marked(show(row.text), ground, palette.mark)
        return painted(self.colours.pieces(row), palette)

    def change_within(self, hunk: int, options: RenderOptions) -> tuple[int, int]:
        """Return the first changed row of a hunk, and how many of its wrapped lines are above the changed words."""
        start, size = self.diff.hunks[hunk].row, self.diff.hunks[hunk].size
        rows = self.diff.rows[start : start + size]
        index = next((start + at for at, row in enumerate(rows) if row.kind in "+-"), start)
        row, other = self.diff.rows[index], self.diff.partner(index) if self.diff.rows[index].beside else None
        if other is None or row.kind != "-" or (options.split and row.lead):
            return index, 0
        spans = changed_words(show(row.text), show(self.diff.rows[other].text))
        first = min((span[0][0] for span in spans if span), default=0)
        width = (options.width - 1) // 2 if options.split else options.width
        return index, first // max(2, width - self.margin(split=options.split))

    def _fold(self, index: int, row: Row, options: RenderOptions) -> list[Run]:
        sign = "⌄" if row.kind == "open" else "⋯"
        return [
            (f" {sign} {row.text} unchanged", options.palette.dim if index in options.near else options.palette.faint)
        ]

    def _head(self, row: Row, options: RenderOptions) -> Lines:
        hunk, palette, mark = self.diff.hunks[row.hunk], options.palette, options.marks.get(row.hunk)
        is_current = row.hunk == options.current
        sign = "" if mark is None else "◉ " if mark.accepted else "○ "
        left = [
            (f" {sign}", palette.cursor if is_current else palette.dim),
            *marked(show(hunk.name), palette.bright + _BOLD if is_current else palette.dim, palette.mark),
        ]
        count = f"{row.hunk + 1} of {len(self.diff.hunks)}{'' if self.diff.complete else '+'}"
        right = [(f"  {count} ", palette.dim if is_current else palette.faint)]
        reason: list[Run] = []
        if mark is not None and not mark.accepted and mark.reason:
            reason = marked(f'skipped: "{show(mark.reason)}"'.replace("\n", " "), palette.dim, palette.mark)
        if reason and width_of([*left, *reason, *right]) + 2 > options.width:
            indent = " " * (1 + len(sign))
            below = [[(indent, NONE), *line] for line in fold(reason, options.width - len(indent) - 1)]
            return [_apart(left, right, options.width), *below]
        return [_apart(left, [*reason, *right], options.width)]


def _apart(left: list[Run], right: list[Run], width: int) -> list[Run]:
    """Align both texts with the edges of the row; the left one is shortened if there is no room."""
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
    """Return the runs with a style applied to some ranges, in one pass."""
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
    """Return the text with tabs as arrows, and with blanks at either end as dots."""
    body = text.strip(" \t\r")
    start = text.index(body) if body else len(text)
    head, tail = text[:start], text[start + len(body) :]
    seen = [part.replace("\t", "→   ").replace(" ", "·").replace("→···", "→   ") for part in (head, tail)]
    return show(seen[0] + body.replace("\t", "→   ") + seen[1])
