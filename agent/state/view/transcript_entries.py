"""The entries of a transcript: the newest in memory, older ones rebuilt when needed."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import islice
from operator import eq
from typing import overload

from .block import Block

IN_MEMORY = 1_000
"""Number of entries that a screen keeps; the details of all but the newest are packed."""
_UNPACKED = 200
"""Number of blocks at the end whose details are not packed."""
_CACHED_PAGES = 8


@dataclass(frozen=True, slots=True)
class Page:
    """The start of a part of the transcript."""

    first: int
    """Index of its first block."""
    seq: int
    """Its blocks are built from the events after this one."""
    state: bytes | None = None
    """The packed state after that event. None means that it is in the journal."""


class Blocks(Sequence[Block]):
    """All entries by index. Only the newest `limit`, and those that can still change, are in memory."""

    def __init__(
        self,
        blocks: Sequence[Block] = (),
        *,
        limit: int | None = None,
        first: int = 0,
        still_open: dict[int, Block] | None = None,
    ) -> None:
        """`limit`: number to keep in memory. None means all. `still_open`: older blocks that events can change."""
        self.first = first
        """Index of the first block of the continuous range in memory."""
        self.limit = limit
        self.pages = [Page(0, 0)]
        """Starts of the parts, oldest first."""
        self.load: Callable[[int], Sequence[Block]] | None = None
        """Builds the blocks of the page at this index in `pages`."""
        self._newest = list(blocks)
        self._open = still_open or {}
        self._cached: dict[int, Sequence[Block]] = {}

    def __len__(self) -> int:
        return self.first + len(self._newest)

    @overload
    def __getitem__(self, index: int) -> Block: ...
    @overload
    def __getitem__(self, index: slice) -> list[Block]: ...
    def __getitem__(self, index: int | slice) -> Block | list[Block]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        if index < 0:
            index += len(self)
        if index >= self.first:
            return self._newest[index - self.first]
        if index < 0:
            raise IndexError(index)
        return self._open.get(index) or self._loaded(index)

    def __iter__(self) -> Iterator[Block]:
        for index in range(self.first):
            yield self[index]
        yield from self._newest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Blocks) and len(self) == len(other) and all(map(eq, self, other))

    def append(self, block: Block) -> None:
        """Append one block at the end."""
        self._newest.append(block)
        if len(self._newest) > _UNPACKED:
            self._newest[-_UNPACKED - 1].pack()

    @property
    def is_full(self) -> bool:
        """Return whether more blocks are in memory than wanted."""
        return self.limit is not None and len(self._newest) > self.limit + self.limit // 4

    def drop_oldest(self, changeable: Collection[int]) -> None:
        """Drop the oldest blocks from memory, except those that events can still change."""
        assert self.limit is not None  # it is full
        count = len(self._newest) - self.limit
        held = {index: self.in_memory_at(index) for index in changeable if index < self.first + count}
        del self._newest[:count]
        self.first += count
        self._open = held
        self._cached.clear()  # a cached page can contain changed blocks, or end too early

    def in_memory_at(self, index: int) -> Block:
        """Return a block in memory, so that it can be changed."""
        return self._newest[index - self.first] if index >= self.first else self._open[index]

    def in_memory(self, start: int) -> Iterator[int]:
        """Yield the indexes, from `start` on, of blocks that can have changed: those in memory."""
        yield from sorted(index for index in self._open if start <= index < self.first)
        yield from range(max(start, self.first), len(self))

    def since(self, seq: int) -> int:
        """Return how many blocks began with that event or later."""
        if self.first and self.pages and (not self._newest or self._newest[0].seq >= seq):
            place = max(0, bisect_right(self.pages, seq, key=lambda page: page.seq + 1) - 1)
            low, high = self.pages[place].first, self.first
            if place + 1 < len(self.pages):
                high = min(high, self.pages[place + 1].first)
            return len(self) - bisect_left(range(high), seq, lo=low, key=lambda at: self[at].seq)
        return len(self) - self.first - bisect_left(self._newest, seq, key=lambda block: block.seq)

    def copied(self, changeable: Collection[int]) -> Blocks:
        """Return the same blocks; those that events can still change are copies."""
        found = Blocks(
            self._newest, limit=self.limit, first=self.first, still_open={i: copy(b) for i, b in self._open.items()}
        )
        found.pages, found.load = list(self.pages), self.load
        for index in changeable:
            if index >= self.first:
                found._newest[index - self.first] = copy(self._newest[index - self.first])
        return found

    def _loaded(self, index: int) -> Block:
        place = bisect_right(self.pages, index, key=lambda page: page.first) - 1
        if self.load is None or place < 0:
            raise IndexError(f"entry {index} is neither in memory nor in a page")
        page = self._cached.pop(place, None)
        if page is None:
            page = self.load(place)
            for old in list(islice(self._cached, max(0, len(self._cached) - _CACHED_PAGES + 1))):
                del self._cached[old]
        self._cached[place] = page  # the newest is the last
        return page[index - self.pages[place].first]
