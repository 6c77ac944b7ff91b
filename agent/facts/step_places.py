"""Positions in the journal at which the steps of a run start, stored in 16 bytes per step."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from struct import Struct

_PAIR = Struct("<qq")


@dataclass(slots=True)
class StepPlaces:
    """Map of step numbers to the positions of their starts in the journal."""

    pairs: bytearray = field(default_factory=bytearray)
    """Number and position of each step, ordered by number."""

    def put(self, number: int, seq: int) -> None:
        """Record that this step started at this position."""
        at = self._find(number)
        end = at + 1 if self._number(at) == number else at
        self.pairs[at * _PAIR.size : end * _PAIR.size] = _PAIR.pack(number, seq)

    def get(self, number: int | None) -> int | None:
        """Return the position at which the step started; None: there is no such step."""
        if number is None:
            return None
        at = self._find(number)
        return _PAIR.unpack_from(self.pairs, at * _PAIR.size)[1] if self._number(at) == number else None

    def _find(self, number: int) -> int:
        count = len(self.pairs) // _PAIR.size
        if not count or self._number(count - 1) < number:  # the usual case: the newest step
            return count
        return bisect_left(range(count), number, key=self._number)

    def _number(self, at: int) -> int:
        start = at * _PAIR.size
        return _PAIR.unpack_from(self.pairs, start)[0] if start < len(self.pairs) else -1
