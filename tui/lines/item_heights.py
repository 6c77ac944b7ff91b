"""Store the number of lines of each item of a very long list, with their sums."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

_CHUNK = 512


class Heights:
    """Numbers of lines.

    Adding, changing and removing at the end take constant time; a sum reads one number for 512 items.
    """

    def __init__(self) -> None:
        self._heights = array("i")
        self._sums: list[int] = []

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    @property
    def total(self) -> int:
        """The number of lines of all items."""
        return sum(self._sums)

    def append(self, height: int) -> None:
        """Add one item with this number of lines at the end."""
        if len(self._heights) % _CHUNK == 0:
            self._sums.append(0)
        self._heights.append(height)
        self._sums[-1] += height

    def fill(self, count: int) -> None:
        """Append this number of items with one line each."""
        self.extend([1] * count)

    def extend(self, heights: Sequence[int]) -> None:
        """Append items at the end."""
        start = len(self._heights)
        self._heights.extend(heights)
        self._sum_from(start)

    def insert(self, index: int, heights: Sequence[int]) -> None:
        """Insert items above the one at `index`."""
        self._heights[index:index] = array("i", heights)
        self._sum_from(index)

    def remove(self, index: int, count: int) -> None:
        """Remove `count` items from `index` on."""
        del self._heights[index : index + count]
        self._sum_from(index)

    def put(self, index: int, height: int) -> None:
        """Change the height of one item."""
        self._sums[index // _CHUNK] += height - self._heights[index]
        self._heights[index] = height

    def cut(self, length: int) -> None:
        """Drop the items from `length` on."""
        del self._heights[length:]
        self._sum_from(length)

    def following(self, index: int) -> int:
        """Return the first item from `index` on that has lines, or the number of items."""
        count = len(self._heights)
        while index < count:
            if index % _CHUNK == 0 and not self._sums[index // _CHUNK]:
                index = min(count, index + _CHUNK)
            elif self._heights[index]:
                return index
            else:
                index += 1
        return count

    def preceding(self, index: int) -> int:
        """Return the last item above `index` that has lines, or -1."""
        index -= 1
        while index >= 0:
            if index % _CHUNK == _CHUNK - 1 and not self._sums[index // _CHUNK]:
                index -= _CHUNK
            elif self._heights[index]:
                return index
            else:
                index -= 1
        return -1

    def before(self, index: int) -> int:
        """Return the number of lines above an item."""
        chunk = index // _CHUNK
        return sum(self._sums[:chunk]) + sum(self._heights[chunk * _CHUNK : index])

    def find(self, line: int) -> tuple[int, int]:
        """Return the item with this line, and the row within it; past the end, the last row of the last item."""
        for chunk, size in enumerate(self._sums):
            if line < size:
                for index in range(chunk * _CHUNK, min((chunk + 1) * _CHUNK, len(self._heights))):
                    if line < self._heights[index]:
                        return index, line
                    line -= self._heights[index]
            line -= size
        last = len(self._heights) - 1
        return (last, max(0, self._heights[last] - 1)) if last >= 0 else (0, 0)

    def _sum_from(self, index: int) -> None:
        chunk = index // _CHUNK
        starts = range(chunk * _CHUNK, len(self._heights), _CHUNK)
        self._sums[chunk:] = [sum(self._heights[start : start + _CHUNK]) for start in starts]
