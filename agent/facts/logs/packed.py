"""A list whose older items are packed in chunks that the journal can store."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TypeVar, overload

import msgspec

T = TypeVar("T")
CHUNK = 200
"""Items per chunk; at least this many of the newest items are not packed."""


class PackedLog(Sequence[T]):
    """List with its newest items in memory and older ones packed. Subclasses are dataclasses for one item type."""

    __slots__ = ("load",)
    load: Callable[[int], bytes] | None
    """Reads the chunk with this number from the journal."""
    packed: list[bytes | None]
    """Chunks, oldest first; None: the chunk is only in the journal."""
    newest: list[T]

    def __post_init__(self) -> None:
        self.load = None

    def decoder(self) -> msgspec.msgpack.Decoder[list[T]]:
        """Return the decoder for the items of a chunk."""
        raise NotImplementedError

    def append(self, item: T) -> None:
        """Add one item at the end."""
        self.newest.append(item)

    def pack_older(self, is_open: Callable[[T], bool]) -> None:
        """Pack the oldest unpacked items if there are enough and none is open; open items may still change."""
        if len(self.newest) > 2 * CHUNK and not any(is_open(item) for item in self.newest[:CHUNK]):
            self.packed.append(zlib.compress(msgspec.msgpack.encode(self.newest[:CHUNK])))
            del self.newest[:CHUNK]

    def cut(self, length: int) -> None:
        """Drop all items from that index on."""
        while length < CHUNK * len(self.packed):
            items = self._chunk(len(self.packed) - 1)
            del self.packed[-1]
            self.newest[:0] = items
        del self.newest[length - CHUNK * len(self.packed) :]

    def __len__(self) -> int:
        return CHUNK * len(self.packed) + len(self.newest)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step == 1:
                return list(islice(self._starting_at(start), max(0, stop - start)))
            return [self[place] for place in range(start, stop, step)]
        index = range(len(self))[index]
        start = CHUNK * len(self.packed)
        return self.newest[index - start] if index >= start else self._chunk(index // CHUNK)[index % CHUNK]

    def __iter__(self) -> Iterator[T]:
        return self._starting_at(0)

    def __reversed__(self) -> Iterator[T]:
        yield from reversed(self.newest)
        for place in reversed(range(len(self.packed))):
            yield from reversed(self._chunk(place))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and len(self) == len(other) and list(self) == list(other)

    __hash__ = None  # pyright: ignore[reportAssignmentType] - it changes

    def _starting_at(self, index: int) -> Iterator[T]:
        for place in range(index // CHUNK, len(self.packed)):
            yield from self._chunk(place)[max(0, index - CHUNK * place) :]
        yield from self.newest[max(0, index - CHUNK * len(self.packed)) :]

    def _chunk(self, place: int) -> list[T]:
        body = self.packed[place]
        if body is None:
            assert self.load is not None  # it was stored
            body = self.load(place)
        return self.decoder().decode(zlib.decompress(body))
