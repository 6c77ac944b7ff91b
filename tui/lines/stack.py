"""Items, one below the other, with a way through their lines from any place."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import islice

from .heights import Heights
from .parts import Line, Part, Place

_KEPT_ITEMS = 200
"""Items whose drawn lines are kept; those in sight are always."""


class Stack:
    """Builds an item's parts when a way leads through them, and keeps them for a while."""

    def __init__(self, build: Callable[[int], list[Part]]) -> None:
        self.heights = Heights()
        """Lines of each item; a guess for what was never drawn."""
        self._build = build
        self._kept: dict[int, list[Part]] = {}
        self._in_sight: Collection[int] = ()

    def parts(self, item: int) -> list[Part]:
        """The parts of an item."""
        found = self._kept.get(item)
        if found is None:
            if len(self._kept) >= _KEPT_ITEMS:
                self._kept = {key: kept for key, kept in self._kept.items() if key in self._in_sight}
            found = self._kept[item] = self._build(item)
        return found

    def forget(self, start: int) -> None:
        """Items from `start` on look different now."""
        for item in [key for key in self._kept if key >= start]:
            del self._kept[item]

    def redraw(self, item: int) -> None:
        """One item looks different now."""
        self._kept.pop(item, None)

    def seen(self, items: Collection[int]) -> None:
        """These items are in sight: their heights are known now."""
        self._in_sight = items
        for item in items:
            self.heights.put(item, sum(part.height for part in self.parts(item)))

    def below(self, item: int) -> int:
        """The next item down that has to be looked at."""
        return item + 1

    def above(self, item: int) -> int:
        """The next item up; -1: there is none."""
        return item - 1

    def down(self, place: Place) -> Iterator[Line]:
        """Lines from this place on."""
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
        """Lines above this place, the nearest first."""
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
        """The last lines, in order."""
        found = list(islice(self.up(Place(len(self.heights))), count))
        found.reverse()
        return found

    def climbed(self, place: Place, rows: int) -> Place:
        """The place so many lines above this one, or the first."""
        for line in islice(self.up(place), rows):
            place = line.place
        return place

    def lines_above(self, place: Place) -> int:
        """Lines above a place, as far as they are known."""
        within = sum(part.height for part in self.parts(place.item)[: place.part]) + place.row
        return self.heights.before(place.item) + within

    def place_at(self, line: int) -> Place:
        """The place of a line that is counted from the top."""
        item, row = self.heights.find(line)
        part = 0
        if item < len(self.heights):
            for part, found in enumerate(self.parts(item)):  # noqa: B007 - the last one counts
                if row < found.height:
                    break
                row -= found.height
        return Place(item, part, row)


class SparseStack(Stack):
    """Of very many items that have no lines, and none until all heights are set anew: these are passed over."""

    def below(self, item: int) -> int:
        """The next item down that has lines."""
        return self.heights.following(item + 1)

    def above(self, item: int) -> int:
        """The next item up that has lines; -1: there is none."""
        return self.heights.preceding(item)
