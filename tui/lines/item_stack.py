"""Items one below the other, whose lines can be visited up and down from any place."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import islice

from .item_heights import Heights
from .line_parts import Line, Part, Place

_KEPT_ITEMS = 200
"""Number of items whose drawn lines are kept, besides the visible ones."""


class Stack:
    """Builds the parts of an item when they are visited, and keeps them for a while."""

    def __init__(self, build: Callable[[int], list[Part]]) -> None:
        self.heights = Heights()
        """The number of lines of each item; a guess for items that were never drawn."""
        self._build = build
        self._kept: dict[int, list[Part]] = {}
        self._in_sight: Collection[int] = ()

    def parts(self, item: int) -> list[Part]:
        """Return the parts of an item."""
        found = self._kept.get(item)
        if found is None:
            if len(self._kept) >= _KEPT_ITEMS:
                self._kept = {key: kept for key, kept in self._kept.items() if key in self._in_sight}
            found = self._kept[item] = self._build(item)
        return found

    def forget(self, start: int) -> None:
        """Discard the parts of all items from `start` on, because they changed."""
        for item in [key for key in self._kept if key >= start]:
            del self._kept[item]

    def redraw(self, item: int) -> None:
        """Discard the parts of one item, because it changed."""
        self._kept.pop(item, None)

    def seen(self, items: Collection[int]) -> None:
        """Store the heights of the items that are visible now."""
        self._in_sight = items
        for item in items:
            self.heights.put(item, sum(part.height for part in self.parts(item)))

    def below(self, item: int) -> int:
        """Return the next item down that has to be visited."""
        return item + 1

    def above(self, item: int) -> int:
        """Return the next item up, or -1."""
        return item - 1

    def down(self, place: Place) -> Iterator[Line]:
        """Yield the lines from this place on."""
        item, part, row = place
        while item < len(self.heights):
            parts = self.parts(item)
            for index in range(part, len(parts)):
                rows = parts[index].rows
                for at in range(row, len(rows)):
                    yield Line(Place(item, index, at), rows[at])
                row = 0
            item, part, row = self.below(item), 0, 0

    def up(self, place: Place) -> Iterator[Line]:
        """Yield the lines above this place, the nearest first."""
        item, part, row = place
        if item < len(self.heights):
            parts = self.parts(item)
            for index in range(min(part, len(parts) - 1), -1, -1):
                rows = parts[index].rows
                end = min(row, len(rows)) if index == part else len(rows)
                for at in range(end - 1, -1, -1):
                    yield Line(Place(item, index, at), rows[at])
        above = self.above(min(item, len(self.heights)))
        while above >= 0:
            parts = self.parts(above)
            for index in range(len(parts) - 1, -1, -1):
                rows = parts[index].rows
                for at in range(len(rows) - 1, -1, -1):
                    yield Line(Place(above, index, at), rows[at])
            above = self.above(above)

    def last(self, count: int) -> list[Line]:
        """Return the last lines, in order."""
        found = list(islice(self.up(Place(len(self.heights))), count))
        found.reverse()
        return found

    def climbed(self, place: Place, rows: int) -> Place:
        """Return the place `rows` lines above this one, or the first place."""
        for line in islice(self.up(place), rows):
            place = line.place
        return place

    def lines_above(self, place: Place) -> int:
        """Return the number of lines above a place. Items that were never drawn count with their guess."""
        within = sum(part.height for part in self.parts(place.item)[: place.part]) + place.row
        return self.heights.before(place.item) + within

    def place_at(self, line: int) -> Place:
        """Return the place of a line, counted from the top."""
        item, row = self.heights.find(line)
        part = 0
        if item < len(self.heights):
            for part, found in enumerate(self.parts(item)):  # noqa: B007 - the last one counts
                if row < found.height:
                    break
                row -= found.height
        return Place(item, part, row)


class SparseStack(Stack):
    """A stack in which most items have no lines. Items without lines are skipped until all heights are replaced."""

    def below(self, item: int) -> int:
        """Return the next item down that has lines."""
        return self.heights.following(item + 1)

    def above(self, item: int) -> int:
        """Return the next item up that has lines, or -1."""
        return self.heights.preceding(item)
