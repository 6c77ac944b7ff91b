"""All tool calls of a run, with older ones packed: a long run makes tens of thousands."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import overload

import msgspec

from .actions import Action

_CHUNK = 200


@dataclass(slots=True)
class ActionLog(Sequence[Action]):
    """A list of actions: the newest as they are, finished older ones in packed chunks."""

    packed: list[bytes] = field(default_factory=list[bytes])
    newest: list[Action] = field(default_factory=list[Action])

    @staticmethod
    def of(actions: Iterable[Action]) -> ActionLog:
        """A log of these."""
        found = ActionLog()
        for action in actions:
            found.append(action)
        return found

    def append(self, action: Action) -> None:
        """Add one; the oldest of the newest are packed once enough of them are finished."""
        self.newest.append(action)
        if len(self.newest) > 2 * _CHUNK and all(old.ok is not None for old in self.newest[:_CHUNK]):
            self.packed.append(zlib.compress(msgspec.msgpack.encode(self.newest[:_CHUNK])))
            del self.newest[:_CHUNK]

    def __len__(self) -> int:
        return _CHUNK * len(self.packed) + len(self.newest)

    @overload
    def __getitem__(self, index: int) -> Action: ...
    @overload
    def __getitem__(self, index: slice) -> list[Action]: ...
    def __getitem__(self, index: int | slice) -> Action | list[Action]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        index = range(len(self))[index]
        start = _CHUNK * len(self.packed)
        return self.newest[index - start] if index >= start else _unpacked(self.packed[index // _CHUNK])[index % _CHUNK]

    def __iter__(self) -> Iterator[Action]:
        for chunk in self.packed:
            yield from _unpacked(chunk)
        yield from self.newest


def _unpacked(chunk: bytes) -> list[Action]:
    return _decoder().decode(zlib.decompress(chunk))


@cache
def _decoder() -> msgspec.msgpack.Decoder[list[Action]]:
    return msgspec.msgpack.Decoder(list[Action])
