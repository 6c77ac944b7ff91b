"""A list whose older items are packed in chunks.

The chunks are in a table of the journal, so that a checkpoint stores only the newest items of each log.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar, overload

import msgspec

from ...protocol import JournalError

if TYPE_CHECKING:
    from ...journal.journal import Journal

T = TypeVar("T")
CHUNK = 200
"""Items per chunk; at least this many of the newest items are not packed."""
_DIGEST_BYTES = 16
_TABLE = """
CREATE TABLE IF NOT EXISTS chunks(
    log TEXT NOT NULL, place INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY(log, place)
) STRICT, WITHOUT ROWID
"""
_ADD = "INSERT OR REPLACE INTO chunks VALUES (?, ?, ?)"
_READ = "SELECT body FROM chunks WHERE log = ? AND place = ?"


class PackedLog(Sequence[T]):
    """List with its newest items in memory and older ones packed. Subclasses are dataclasses for one item type."""

    __slots__ = ("load",)
    load: Callable[[int], bytes] | None
    """Reads the chunk with this number from the journal."""
    packed: list[bytes | None]
    """Chunks, oldest first. None means that the chunk is only in the journal."""
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
            items = self._items(len(self.packed) - 1)
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
        return self.newest[index - start] if index >= start else self._items(index // CHUNK)[index % CHUNK]

    def __iter__(self) -> Iterator[T]:
        return self._starting_at(0)

    def __reversed__(self) -> Iterator[T]:
        yield from reversed(self.newest)
        for place in reversed(range(len(self.packed))):
            yield from reversed(self._items(place))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and len(self) == len(other) and list(self) == list(other)

    __hash__ = None  # pyright: ignore[reportAssignmentType] - it changes

    def _starting_at(self, index: int) -> Iterator[T]:
        for place in range(index // CHUNK, len(self.packed)):
            yield from self._items(place)[max(0, index - CHUNK * place) :]
        yield from self.newest[max(0, index - CHUNK * len(self.packed)) :]

    def _items(self, place: int) -> list[T]:
        body = self.packed[place]
        if body is None:
            assert self.load is not None  # it was stored
            body = self.load(place)
        return self.decoder().decode(zlib.decompress(body))


_Log = TypeVar("_Log", bound=PackedLog[Any])


def store(journal: Journal, name: str, log: _Log) -> _Log:
    """Write the chunks that are only in memory. Return the log as a checkpoint stores it: without chunks.

    `log` does not change: call `drop_stored` after the commit. Raises JournalError.
    """
    new = [(name, place, with_digest(body)) for place, body in enumerate(log.packed) if body is not None]
    if new:
        journal.rows(_TABLE)
        journal.write(_ADD, new)
    bare = copy(log)
    bare.packed = [None] * len(log.packed)
    return bare


def drop_stored(journal: Journal, logs: Mapping[str, PackedLog[Any]]) -> None:
    """Free the memory of all chunks. Call it after the transaction of `store` was committed."""
    for log in logs.values():
        log.packed = [None] * len(log.packed)
    read_from(journal, logs)


def read_from(journal: Journal, logs: Mapping[str, PackedLog[Any]]) -> None:
    """Set up these logs to read their stored chunks from this journal when needed."""
    for name, log in logs.items():
        log.load = lambda place, name=name: _chunk(journal, name, place)


def _chunk(journal: Journal, name: str, place: int) -> bytes:
    rows: Iterable[tuple[bytes]] = journal.rows(_READ, [name, place])
    found = next((without_digest(body) for (body,) in rows), None)
    if found is not None:
        return found
    raise JournalError(f"{journal.path} is damaged: part {place} of its list of {name} is missing or wrong")


def with_digest(body: bytes) -> bytes:
    """Return the bytes followed by their digest."""
    return body + _digest(body)


def without_digest(stored: bytes) -> bytes | None:
    """Return the bytes without the digest that `with_digest` added, or None if it is wrong or missing."""
    body = stored[:-_DIGEST_BYTES]
    return body if stored[-_DIGEST_BYTES:] == _digest(body) else None


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_DIGEST_BYTES).digest()
