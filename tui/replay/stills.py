"""States that are kept while a run is folded, so that a jump back folds a part of it only."""

from __future__ import annotations

import copy
from bisect import bisect_right
from dataclasses import dataclass, fields
from functools import cache

import msgspec

from rundry.agent import FinderFacts, ViewState

MOST = 48
"""States that are kept at most: of a longer run every second one is given up, again and again."""


@dataclass(frozen=True, slots=True)
class _Still:
    state: ViewState
    """Without its finder."""
    finder: bytes | None
    """Packed: a search with thousands of findings is copied in a millisecond."""


class Stills:
    """The states at some events of a run, in order."""

    def __init__(self, every: int) -> None:
        """`every`: events between two of them, at first."""
        self.every = every
        self._seqs: list[int] = []
        self._stills: list[_Still] = []

    def keep(self, state: ViewState) -> None:
        """A state goes in where the newest one is far enough behind it."""
        newest = self._seqs[-1] if self._seqs else 0
        if state.last_seq // self.every <= newest // self.every:
            return
        self._seqs.append(state.last_seq)
        self._stills.append(_Still(_copied(state), _pack(state.finder)))
        if len(self._seqs) > MOST:
            self.every *= 2
            del self._seqs[::2], self._stills[::2]

    def before(self, seq: int) -> int:
        """The last event up to that one whose state is kept; 0: none is."""
        place = bisect_right(self._seqs, seq)
        return self._seqs[place - 1] if place else 0

    def develop(self, seq: int) -> ViewState:
        """The state that is kept of that event; 0: before the first. What is folded into it changes nothing here."""
        if seq == 0:
            return ViewState()
        still = self._stills[bisect_right(self._seqs, seq) - 1]
        state = _copied(still.state)
        state.finder = _unpack(still.finder)
        state.changed_from = 0
        return state


def _copied(state: ViewState) -> ViewState:
    """The same state without its finder.

    A block changes only while something points at it: all others are shared.
    """
    found = ViewState()
    for each in fields(ViewState):
        if each.name not in ("blocks", "finder"):
            setattr(found, each.name, copy.deepcopy(getattr(state, each.name)))
    found.blocks = state.blocks.copied(state.pointed)
    return found


def _pack(facts: FinderFacts | None) -> bytes | None:
    return msgspec.msgpack.encode(facts) if facts is not None else None


def _unpack(packed: bytes | None) -> FinderFacts | None:
    return _unpacker().decode(packed) if packed is not None else None


@cache
def _unpacker() -> msgspec.msgpack.Decoder[FinderFacts]:
    return msgspec.msgpack.Decoder(FinderFacts)
