"""The entries of a transcript: the newest ones in memory, older ones built again when they are asked for."""

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
"""Entries that a screen keeps; the details of all but the newest are packed."""
_UNPACKED = 200
"""Blocks at the end whose details are kept as they are."""
_CACHED_PAGES = 8


@dataclass(frozen=True, slots=True)
class Page:
    """Where a part of the transcript begins."""

    first: int
    """Index of its first block."""
    seq: int
    """Its blocks are built from the events after this one."""
    state: bytes | None = None
    """The packed state after that event; None: the journal stores it."""


class Blocks(Sequence[Block]):
    """All entries by their index. Only the newest `most` and those that still change are in memory."""

    def __init__(
        self,
        blocks: Sequence[Block] = (),
        *,
        most: int | None = None,
        first: int = 0,
        still_open: dict[int, Block] | None = None,
    ) -> None:
        """`most`: how many to keep in memory; None: all. `still_open`: older blocks that events can change."""
        self.first = first
        """Index of the oldest of those in memory that follow each other."""
        self.most = most
        self.pages = [Page(0, 0)]
        """Where parts begin, oldest first."""
        self.load: Callable[[int], Sequence[Block]] | None = None
        """Builds the blocks of the page with that place in `pages`."""
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
        """Add one at the end."""
        self._newest.append(block)
        if len(self._newest) > _UNPACKED:
            self._newest[-_UNPACKED - 1].pack()

    @property
    def is_full(self) -> bool:
        """There are more in memory than wanted."""
        return self.most is not None and len(self._newest) > self.most + self.most // 4

    def shed(self, pointed: Collection[int]) -> None:
        """Drop the oldest from memory, except those that events can still change."""
        assert self.most is not None  # it is full
        count = len(self._newest) - self.most
        held = {index: self.held(index) for index in pointed if index < self.first + count}
        del self._newest[:count]
        self.first += count
        self._open = held
        self._cached.clear()  # a cached page can have blocks that changed, or end too early

    def held(self, index: int) -> Block:
        """A block that is in memory, to be changed."""
        return self._newest[index - self.first] if index >= self.first else self._open[index]

    def in_memory(self, start: int) -> Iterator[int]:
        """Indexes from `start` on of the blocks that can have changed: those in memory."""
        yield from sorted(index for index in self._open if start <= index < self.first)
        yield from range(max(start, self.first), len(self))

    def since(self, seq: int) -> int:
        """How many blocks began with that event or after it."""
        if self.first and self.pages and (not self._newest or self._newest[0].seq >= seq):
            place = max(0, bisect_right(self.pages, seq, key=lambda page: page.seq + 1) - 1)
            low, high = self.pages[place].first, self.first
            if place + 1 < len(self.pages):
                high = min(high, self.pages[place + 1].first)
            return len(self) - bisect_left(range(high), seq, lo=low, key=lambda at: self[at].seq)
        return len(self) - self.first - bisect_left(self._newest, seq, key=lambda block: block.seq)

    def copied(self, pointed: Collection[int]) -> Blocks:
        """The same blocks; those that events can still change are copies."""
        found = Blocks(
            self._newest, most=self.most, first=self.first, still_open={i: copy(b) for i, b in self._open.items()}
        )
        found.pages, found.load = list(self.pages), self.load
        for index in pointed:
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
