"""All tool calls of a run, with older ones packed: a long run makes tens of thousands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache

import msgspec

from .packed_log import PackedLog
from .tool_actions import Action


@dataclass(slots=True, eq=False)
class ActionLog(PackedLog[Action]):
    """List of actions: the newest are in memory, finished older ones in packed chunks."""

    packed: list[bytes | None] = field(default_factory=list[bytes | None])
    newest: list[Action] = field(default_factory=list[Action])

    @staticmethod
    def of(actions: Iterable[Action]) -> ActionLog:
        """Create a log that contains these actions."""
        found = ActionLog()
        for action in actions:
            found.append(action)
        return found

    def append(self, item: Action) -> None:
        """Add one action; older ones are packed once enough of them are finished."""
        self.newest.append(item)
        self.pack_older(lambda action: action.ok is None)

    def decoder(self) -> msgspec.msgpack.Decoder[list[Action]]:
        """Return the decoder for the actions of a chunk."""
        return _decoder()


@cache
def _decoder() -> msgspec.msgpack.Decoder[list[Action]]:
    return msgspec.msgpack.Decoder(list[Action])
