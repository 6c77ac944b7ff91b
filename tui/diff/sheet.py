"""The rows of a diff, drawn: numbers, signs, colours, changed words. One row at a time, as they come into sight."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rich.style import Style

from ..lines import Run, fold, marked
from ..lines.draw import cut, width_of
from ..text import show
from ..theme import Palette
from .code import Piece, lex, lexer_for, painted
from .model import Diff, Row
from .words import Spans, changed_words

Colours = dict[tuple[str, int], list[Piece]]
"""Side (`-` old, `+` new) and line number to the line in coloured pieces."""
_LAST = 50
_NONE = Style.null()


@dataclass(slots=True)
class HunkMark:
    """What the person made of a hunk."""

    taken: bool
    reason: str = ""


class Sheet:
    """Draws the rows of one diff."""

    def __init__(self, diff: Diff) -> None:
        self.diff = diff
        self.colours: Colours | None = None
        """Of the whole files, once they are there; a hunk's own lines are lexed until then where it is short."""
        self._of_hunk: dict[int, Colours] = {}
        largest = max((max(row.old, row.new) for row in diff.rows[-_LAST:]), default=0)  # numbers only grow
        self.digits = max(3, len(str(largest)))

    @property
    def margin(self) -> int:
        """Cells left of a line's text: both numbers and the sign."""
        return 2 * self.digits + 6

    def draw(
        self, index: int, width: int, palette: Palette, marks: Mapping[int, HunkMark], current: int = -1
    ) -> list[list[Run]]:
        """The row at `index` in lines of `width` cells; wrapped, never cut."""
        row = self.diff.rows[index]
        match row.kind:
            case "head":
                return [self._head(row, width, palette, marks.get(row.hunk), is_current=row.hunk == current)]
            case "fold":
                return [[(f" ⋯ {row.text} unchanged", palette.faint)]]
            case "note":
                return fold([("   ", _NONE), *marked(show(row.text), palette.dim, palette.mark)], width)
            case _:
                return self._line(index, row, width, palette)

    def _line(self, index: int, row: Row, width: int, palette: Palette) -> list[list[Run]]:
        sign, ground = _signs(row.kind, palette)
        numbers = f" {row.old or '':>{self.digits}} {row.new or '':>{self.digits}} "
        head: list[Run] = [(numbers, palette.faint + ground), (f"{sign[0]} ", sign[1] + ground), (" ", ground)]
        blank: list[Run] = [(" " * self.margin, ground)]
        lines: list[list[Run]] = []
        for at, runs in enumerate(fold(self._text(index, row, palette), width - self.margin, words=False)):
            text = [(text, ground + style) for text, style in runs]
            pad = width - self.margin - width_of(text)
            lines.append([*(blank if at else head), *text, (" " * max(0, pad), ground)])
        return lines

    def _text(self, index: int, row: Row, palette: Palette) -> list[Run]:
        other = self.diff.partner.get(index)
        if other is None:
            return painted(self._pieces(row), palette)
        partner = self.diff.rows[other]
        mine, theirs = show(row.text), show(partner.text)
        blanks = row.text != partner.text and row.text.split() == partner.text.split()
        if blanks:  # only blanks differ: they have to be seen
            mine, theirs = _with_blanks(row.text), _with_blanks(partner.text)
        old, new = (mine, theirs) if row.kind == "-" else (theirs, mine)
        left, right = changed_words(old, new)
        style = palette.diff_removed_word if row.kind == "-" else palette.diff_added_word
        runs = marked(mine, palette.code, palette.mark) if blanks else painted(self._pieces(row), palette)
        return _over(runs, left if row.kind == "-" else right, style)

    def _pieces(self, row: Row) -> list[Piece]:
        key = ("-", row.old) if row.kind == "-" else ("+", row.new)
        if self.colours is not None:
            found = self.colours.get(key)
        else:
            if row.hunk not in self._of_hunk:
                self._of_hunk[row.hunk] = self._lex_hunk(row.hunk)
            found = self._of_hunk[row.hunk].get(key)
        return found if found is not None else [(show(row.text), "code")]

    def _lex_hunk(self, hunk: int) -> Colours:
        start = self.diff.hunks[hunk].row if hunk >= 0 else 0
        end = self.diff.hunks[hunk + 1].row if hunk + 1 < len(self.diff.hunks) else len(self.diff.rows)
        if end - start > 400:
            return {}
        rows = [row for row in self.diff.rows[start:end] if row.kind in (" ", "+", "-")]
        old, new = [(row.old, row.text) for row in rows if row.old], [(row.new, row.text) for row in rows if row.new]
        return colours_of(self.diff.path, {"-": old, "+": new})

    def _head(self, row: Row, width: int, palette: Palette, mark: HunkMark | None, *, is_current: bool) -> list[Run]:
        hunk = self.diff.hunks[row.hunk]
        sign = "" if mark is None else "◉ " if mark.taken else "○ "
        name = palette.bright + Style(bold=True) if is_current else palette.dim
        left = [
            (f" {sign}", palette.cursor if is_current else palette.dim),
            *marked(show(hunk.name), name, palette.mark),
        ]
        count = f"{row.hunk + 1} of {len(self.diff.hunks)}"
        right = [(f"  {count} ", palette.dim if is_current else palette.faint)]
        if mark is not None and not mark.taken and mark.reason:
            right = [*marked(f'left: "{show(mark.reason)}"'.replace("\n", " "), palette.dim, palette.mark), *right]
        room = width - width_of(right) - 2
        left = left if width_of(left) <= room else cut(left, 0, room)
        return [*left, (" " * max(0, width - width_of(left) - width_of(right)), _NONE), *right]


def colours_of(
    path: str, sides: Mapping[str, Sequence[tuple[int, str]]], wanted: Callable[[], bool] = lambda: True
) -> Colours:
    """Numbered lines of the old (`-`) and the new side (`+`), each side lexed as one text."""
    found: Colours = {}
    lexer = lexer_for(path)
    for side, lines in sides.items():
        pieces = lex([show(text) for _, text in lines], lexer, wanted)
        found.update({(side, number): line for (number, _), line in zip(lines, pieces, strict=True)})
    return found


def _signs(kind: str, palette: Palette) -> tuple[tuple[str, Style], Style]:
    match kind:
        case "+":
            return ("+", palette.diff_added_sign), palette.diff_added
        case "-":
            return ("−", palette.diff_removed_sign), palette.diff_removed
        case _:
            return (" ", _NONE), _NONE


def _over(runs: list[Run], spans: Spans, style: Style) -> list[Run]:
    if not spans:
        return runs
    found: list[Run] = []
    at = 0
    for start, end in spans:
        found += cut(runs, at, start)
        found += [(text, own + style) for text, own in cut(runs, start, end)]
        at = end
    return found + cut(runs, at, sum(len(text) for text, _ in runs))


def _with_blanks(text: str) -> str:
    """Tabs as arrows, blanks at either end as dots."""
    body = text.strip(" \t\r")
    start = text.index(body) if body else len(text)
    head, tail = text[:start], text[start + len(body) :]
    seen = [part.replace("\t", "→   ").replace(" ", "·").replace("→···", "→   ") for part in (head, tail)]
    return show(seen[0] + body.replace("\t", "→   ") + seen[1])
