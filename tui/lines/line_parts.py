"""The elements of a line view: items, each with parts that are drawn when they become visible."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from textual.strip import Strip

_ROW_BITS, _PART_BITS = 20, 20


class Place(NamedTuple):
    """Position of a line: the item, the part of the item, the row of the part."""

    item: int
    part: int = 0
    row: int = 0


def number_of(place: Place) -> int:
    """Return a place as a row number for textual's selection. The numbers have the order of the places."""
    return (place.item << _PART_BITS | place.part) << _ROW_BITS | place.row


def place_of(number: int) -> Place:
    """Return the place that has this number."""
    rest = number >> _ROW_BITS
    return Place(rest >> _PART_BITS, rest & (1 << _PART_BITS) - 1, number & (1 << _ROW_BITS) - 1)


class Line(NamedTuple):
    """A drawn line and its place."""

    place: Place
    strip: Strip


class Part:
    """Some lines of an item. They are drawn when they are first needed; until then their number is a guess."""

    __slots__ = ("_draw", "_rows", "guess")

    def __init__(self, draw: Callable[[], list[Strip]], guess: int) -> None:
        self._draw: Callable[[], list[Strip]] | None = draw
        self._rows: list[Strip] = []
        self.guess = guess
        """Estimated number of lines."""

    def after(self, before: Part) -> Part:
        """Return this part with the row objects of `before` where rows are equal: these are not painted again."""
        draw = self._draw

        def drawn() -> list[Strip]:
            rows = draw() if draw is not None else self._rows
            old = before.rows
            return [old[at] if at < len(old) and old[at] == row else row for at, row in enumerate(rows)]

        return Part(drawn, self.guess)

    @property
    def rows(self) -> list[Strip]:
        """The drawn lines; may be empty."""
        if self._draw is not None:
            self._rows, self._draw = self._draw(), None
        return self._rows

    @property
    def height(self) -> int:
        """The number of lines, or the guess until the part is drawn."""
        return self.guess if self._draw is not None else len(self._rows)
