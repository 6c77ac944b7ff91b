"""What a line view is made of: items, each with parts that are drawn when they come into sight."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from textual.strip import Strip

_ROW_BITS, _PART_BITS = 20, 20


class Place(NamedTuple):
    """A line: the item, the part of it, the row of that."""

    item: int
    part: int = 0
    row: int = 0


def number_of(place: Place) -> int:
    """A place as the row number that textual's selection counts with: in the order of places."""
    return (place.item << _PART_BITS | place.part) << _ROW_BITS | place.row


def place_of(number: int) -> Place:
    """The place that has this number."""
    rest = number >> _ROW_BITS
    return Place(rest >> _PART_BITS, rest & (1 << _PART_BITS) - 1, number & (1 << _ROW_BITS) - 1)


class Line(NamedTuple):
    """A drawn line and where it is."""

    place: Place
    strip: Strip


class Part:
    """Some lines of an item. Drawn once, when first asked for; until then their number is a guess."""

    __slots__ = ("_draw", "_rows", "guess")

    def __init__(self, draw: Callable[[], list[Strip]], guess: int) -> None:
        self._draw: Callable[[], list[Strip]] | None = draw
        self._rows: list[Strip] = []
        self.guess = guess
        """How many lines it will probably be."""

    def after(self, before: Part) -> Part:
        """The same part, keeping what did not change since it was drawn as `before`: it need not be painted again."""
        draw = self._draw

        def drawn() -> list[Strip]:
            rows = draw() if draw is not None else self._rows
            old = before.rows
            return [old[at] if at < len(old) and old[at] == row else row for at, row in enumerate(rows)]

        return Part(drawn, self.guess)

    @property
    def rows(self) -> list[Strip]:
        """The drawn lines; none at all is allowed."""
        if self._draw is not None:
            self._rows, self._draw = self._draw(), None
        return self._rows

    @property
    def height(self) -> int:
        """Lines; the guess as long as it is not drawn."""
        return self.guess if self._draw is not None else len(self._rows)
