"""Tables of Markdown: columns aligned by display width, or one block for each row where the columns do not fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len
from rich.style import Style

from ..lines.draw_runs import Run, fold, width_of

if TYPE_CHECKING:
    from ..theme.theme import Palette

Rows = list[list[Run]]
Align = Literal["left", "center", "right"]
Cell = list[Run]
_GAP = 3
_LONGEST_WORD = 24
"""Length above which a word does not keep its column wide, and is cut."""


@dataclass(frozen=True, slots=True)
class Table:
    """The cells of a table: one list for each line, the first is the header. All lines have the same length."""

    lines: Sequence[Sequence[Cell]]
    aligns: Sequence[Align]

    def draw(self, width: int, palette: Palette) -> Rows:
        """Return the rows, each at most `width` cells."""
        widths = self._widths(width)
        return self._blocks(width, palette) if widths is None else self._columns(widths, palette)

    def _widths(self, width: int) -> list[int] | None:
        """Return the width of each column, or None if not every column has room for its words."""
        columns = list(zip(*self.lines, strict=True))
        widths = [max(1, *(width_of(cell) for cell in column)) for column in columns]
        least = [max(1, *(_longest_word(cell) for cell in column)) for column in columns]
        room = width - _GAP * (len(widths) - 1)
        if sum(widths) <= room:
            return widths
        if sum(least) > room:
            return None
        while sum(widths) > room:
            at = max((at for at in range(len(widths)) if widths[at] > least[at]), key=lambda at: widths[at])
            widths[at] -= 1
        return widths

    def _columns(self, widths: Sequence[int], palette: Palette) -> Rows:
        rule: list[Run] = [("─" * (sum(widths) + _GAP * (len(widths) - 1)), palette.rule)]
        folded = [[fold(cell, width) for cell, width in zip(line, widths, strict=True)] for line in self.lines]
        is_wrapped = any(len(cell) > 1 for line in folded[1:] for cell in line)
        rows: Rows = []
        for index, line in enumerate(folded):
            if index == 1 or (index > 1 and is_wrapped):
                rows.append(rule)
            for at in range(max(map(len, line))):
                parts = [cell[at] if at < len(cell) else [] for cell in line]
                rows.append(_row(parts, widths, self.aligns))
        if len(folded) == 1:
            rows.append(rule)
        return rows

    def _blocks(self, width: int, palette: Palette) -> Rows:
        """Return each line as a block, with the name of each column before its cell."""
        head, *lines = self.lines
        if not lines:
            return [row for cell in head for row in fold(cell, width)]
        names = min(max(1, *(width_of(cell) for cell in head)), max(4, width // 3))
        rows: Rows = []
        for index, line in enumerate(lines):
            if index:
                rows.append([])
            for name, cell in zip(head, line, strict=True):
                labels, values = fold(name, names), fold(cell, max(2, width - names - 2))
                for at in range(max(len(labels), len(values))):
                    label = labels[at] if at < len(labels) else []
                    value = values[at] if at < len(values) else []
                    rows.append([*label, (" " * (names + 2 - width_of(label)), Style.null()), *value])
        return rows


def _row(parts: Sequence[list[Run]], widths: Sequence[int], aligns: Sequence[Align]) -> list[Run]:
    runs: list[Run] = []
    blank = 0
    for index, (part, width, align) in enumerate(zip(parts, widths, aligns, strict=True)):
        free = max(0, width - width_of(part))
        before = {"left": 0, "center": free // 2, "right": free}[align]
        blank += before + (_GAP if index else 0)
        if blank and part:
            runs.append((" " * blank, Style.null()))
            blank = 0
        runs.extend(part)
        blank += free - before
    return runs


def _longest_word(cell: Cell) -> int:
    words = "".join(text for text, _ in cell).split()
    return min(_LONGEST_WORD, max((_unbroken(word) for word in words), default=1))


def _unbroken(word: str) -> int:
    """Return the cells of a word; a word of wide characters may break after each."""
    width = cell_len(word)
    return 2 if width == 2 * len(word) else width
