"""Checkpoints of a view state in memory, so that a replay that jumps back folds only a part of the run again."""

from __future__ import annotations

import copy
from bisect import bisect_right
from dataclasses import dataclass, fields
from functools import cache

import msgspec

from ..search.finder_facts import FinderFacts
from .view_state import ViewState

MOST_CHECKPOINTS = 48
"""Above this number every second checkpoint is dropped, and the distance between two of them doubles."""


@dataclass(frozen=True, slots=True)
class _Checkpoint:
    state: ViewState
    """Without its finder."""
    finder: bytes | None
    """As msgpack: a search with thousands of findings is copied in a millisecond."""


class ViewCheckpoints:
    """Copies of the state after some of a run's events, in order."""

    def __init__(self, every: int) -> None:
        """`every`: events between two checkpoints, at first."""
        self.every = every
        self._seqs: list[int] = []
        self._checkpoints: list[_Checkpoint] = []

    def add(self, state: ViewState) -> None:
        """Copy this state if the newest checkpoint is at least `every` events older."""
        newest = self._seqs[-1] if self._seqs else 0
        if state.last_seq // self.every <= newest // self.every:
            return
        self._seqs.append(state.last_seq)
        self._checkpoints.append(_Checkpoint(_copied(state), _pack(state.finder)))
        if len(self._seqs) > MOST_CHECKPOINTS:
            self.every *= 2
            del self._seqs[::2], self._checkpoints[::2]

    def newest_until(self, seq: int) -> int:
        """Return the last event up to this one that has a checkpoint, or 0 if none has."""
        place = bisect_right(self._seqs, seq)
        return self._seqs[place - 1] if place else 0

    def state_at(self, seq: int) -> ViewState:
        """Return a copy of the checkpoint of this event, to fold more events into.

        0 means the state before the first.
        """
        if seq == 0:
            return ViewState()
        checkpoint = self._checkpoints[bisect_right(self._seqs, seq) - 1]
        state = _copied(checkpoint.state)
        state.finder = _unpack(checkpoint.finder)
        state.changed_from = 0
        return state


def _copied(state: ViewState) -> ViewState:
    """Return a copy of a state without its finder.

    Blocks that no event can change any more are shared between the copies.
    """
    names = [each.name for each in fields(ViewState) if each.name not in ("blocks", "finder")]
    values = {name: copy.deepcopy(getattr(state, name)) for name in names}
    return ViewState(**values, blocks=state.blocks.copied(state.changeable))


def _pack(facts: FinderFacts | None) -> bytes | None:
    return msgspec.msgpack.encode(facts) if facts is not None else None


def _unpack(packed: bytes | None) -> FinderFacts | None:
    return _unpacker().decode(packed) if packed is not None else None


@cache
def _unpacker() -> msgspec.msgpack.Decoder[FinderFacts]:
    return msgspec.msgpack.Decoder(FinderFacts)
