"""Draw a line of code after its number and sign (`+` or `-`): wrapped, never cut, filled to the edge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from rich.style import Style

from ..lines.draw_runs import Run, cut, fold, width_of

ROWS_AT_ONCE = 64
"""Rows of a very long line that are drawn together."""
NONE = Style.null()


class Column:
    """One line of code in a column: the whole width of the pane, or half of it."""

    def __init__(
        self, head: Sequence[Run], text: Callable[[], list[Run]], size: int, width: int, ground: Style = NONE
    ) -> None:
        """`text` returns the runs when they are needed; `size` is their approximate length in characters."""
        self._head = [(part, style + ground) for part, style in head]
        self._margin = width_of(head)
        self._text = text
        self._width = width
        self._ground = ground
        self._room = max(2, width - self._margin)
        self.parts = max(1, -(-size // (ROWS_AT_ONCE * self._room)))
        """Number of parts in which the line is drawn."""
        self.guess = 1 + size // self._room
        """Estimated number of rows."""

    @cached_property
    def _runs(self) -> list[Run]:
        return self._text()

    def draw(self, part: int) -> list[list[Run]]:
        """Return the rows of a part, each as wide as the column; no rows for a part that does not exist."""
        if part >= self.parts:
            return []
        size = ROWS_AT_ONCE * self._room
        end = (part + 1) * size if part + 1 < self.parts else sum(len(text) for text, _ in self._runs)
        runs = self._runs if self.parts == 1 else cut(self._runs, part * size, end)
        rows: list[list[Run]] = []
        for at, line in enumerate(fold(runs, self._room, words=False)):
            head = self._head if not at and not part else [(" " * self._margin, self._ground)]
            text = [(text, self._ground + style) for text, style in line]
            rows.append([*head, *text, (" " * max(0, self._width - self._margin - width_of(text)), self._ground)])
        return rows

    def blank(self) -> list[Run]:
        """Return an empty row with the background of the line."""
        return [(" " * self._width, self._ground)]


def beside(left: Column, right: Column, part: int, divider: Run) -> list[list[Run]]:
    """Return the rows of a part of both columns next to each other. The shorter column is filled with empty rows."""
    first, second = left.draw(part), right.draw(part)
    height = max(len(first), len(second))
    first += [left.blank()] * (height - len(first))
    second += [right.blank()] * (height - len(second))
    return [[*one, divider, *two] for one, two in zip(first, second, strict=True)]
