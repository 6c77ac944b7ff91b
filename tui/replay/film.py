"""The state of a run at any of its events: the fold up to there, from the nearest state that was kept."""

from __future__ import annotations

import copy
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, fields

from rundry.agent import Journal, Stamped

from ..reducer import reduce_all
from ..state import ViewState

EVERY = 2_048
"""Events between two states that are kept: what is folded at most when someone jumps back."""
_BATCH = 2_048
_STARTS = "SELECT seq, at, step FROM events WHERE type = 'step_started' ORDER BY seq"
_SPAN = "SELECT min(seq), max(seq) FROM events"
_AT = "SELECT at FROM events WHERE seq = ?"


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a step began."""

    seq: int
    at: float
    """Unix seconds."""
    number: int


class Film:
    """One journal, up to the event that was its newest when this was made."""

    def __init__(self, journal: Journal, *, every: int = EVERY) -> None:
        """`every`: events between two states that are kept. Raises JournalError."""
        self._journal, self._every = journal, every
        first, last = journal.rows(_SPAN)[0]
        self.first, self.last = int(first or 0), int(last or 0)
        """The first and the last event; 0 where there is none."""
        self.began_at, self.ended_at = self._at(self.first), self._at(self.last)
        """Unix seconds."""
        rows = journal.rows(_STARTS)
        self.marks: Sequence[Mark] = [Mark(seq, at, step or place) for place, (seq, at, step) in enumerate(rows, 1)]
        self.state = ViewState()
        """At `position`."""
        self._kept: dict[int, ViewState] = {}

    @property
    def position(self) -> int:
        """The last event that is in `state`; 0 before the first."""
        return self.state.last_seq

    def go_to(self, seq: int) -> ViewState:
        """The state after that event. Raises JournalError."""
        seq = max(0, min(seq, self.last))
        nearest = max((kept for kept in self._kept if kept <= seq), default=0)
        if seq < self.position or nearest > self.position:
            self.state = copied(self._kept[nearest]) if nearest else ViewState()
            self.state.changed_from = 0
        while self.position < seq:
            limit = min(_BATCH, self._every - self.position % self._every, seq - self.position)
            events = [s for s in self._journal.read(self.position, limit) if s.seq <= seq]
            if not events:
                break
            reduce_all(self.state, events)
            self._keep()
        return self.state

    def after(self, limit: int) -> Sequence[Stamped]:
        """The next events, at most so many. Raises JournalError."""
        return [s for s in self._journal.read(self.position, limit) if s.seq <= self.last]

    def take(self, events: Sequence[Stamped]) -> ViewState:
        """The state with these next events in it."""
        reduce_all(self.state, events)
        self._keep()
        return self.state

    def step_before(self, seq: int) -> int:
        """The event in which the step began that began before this one; 0: there is none."""
        place = bisect_left(self.marks, seq, key=lambda mark: mark.seq)
        return self.marks[place - 1].seq if place else 0

    def step_after(self, seq: int) -> int:
        """The event in which the next step begins; the last event where there is none."""
        place = bisect_right(self.marks, seq, key=lambda mark: mark.seq)
        return self.marks[place].seq if place < len(self.marks) else self.last

    def _keep(self) -> None:
        """A search's facts are too much to be kept again and again: it is folded from its start."""
        at = self.position
        newest = max(self._kept, default=0)
        if self.state.finder is None and at // self._every > newest // self._every:
            self._kept[at] = copied(self.state)

    def _at(self, seq: int) -> float:
        rows = self._journal.rows(_AT, [seq])
        return float(rows[0][0]) if rows else 0.0


def copied(state: ViewState) -> ViewState:
    """The same state, which no event that is folded into the other one changes.

    A block changes only while something points at it: all others are shared.
    """
    found = ViewState()
    pointed: set[int] = set()
    for each in fields(ViewState):
        if each.name != "blocks":
            value = getattr(state, each.name)
            setattr(found, each.name, copy.deepcopy(value))
            if isinstance(value, dict) and (each.name == "growing" or each.name.startswith("at_")):
                pointed |= set(value.values())  # pyright: ignore[reportUnknownArgumentType]
    found.blocks = list(state.blocks)
    for index in pointed:
        found.blocks[index] = copy.copy(state.blocks[index])
    return found
