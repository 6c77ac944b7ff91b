"""The state of a run at any of its events. It is folded from the nearest stored state."""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from rundry.agent import Journal, LoopKind, Stamped, ViewCheckpoints, ViewState, load_older, reduce_all

from .replayed_items import ItemHistory

EVERY = 2_048
"""Number of events between two stored states, at first."""
_BATCH = 2_048
_MARKS = {
    "step": "SELECT seq, at, step FROM events WHERE type = 'step_started' ORDER BY seq",
    "pass": "SELECT seq, at, json_extract(body, '$.number') FROM events WHERE type = 'pass_started' ORDER BY seq",
}
_SPAN = "SELECT min(seq), max(seq) FROM events"
_AT = "SELECT at FROM events WHERE seq = ?"


@dataclass(frozen=True, slots=True)
class Mark:
    """The start of a step or of a pass."""

    seq: int
    at: float
    """Unix seconds."""
    number: int


class Timeline:
    """The events of one journal, up to the newest event when the object was created."""

    def __init__(self, journal: Journal, *, every: int = EVERY) -> None:
        """`every`: number of events between two stored states, at first. Raises JournalError."""
        self.journal = journal
        first, last = journal.rows(_SPAN)[0]
        self.first, self.last = int(first or 0), int(last or 0)
        """The first and the last event; 0 if there are none."""
        self.began_at, self.ended_at = self._at(self.first), self._at(self.last)
        """Unix seconds."""
        self.is_search = journal.spec.loop is LoopKind.UNTIL_DRY
        self.unit = "pass" if self.is_search else "step"
        """What the marks are: steps, or passes for a search, whose works have thousands of steps."""
        rows = journal.rows(_MARKS[self.unit])
        self.marks: Sequence[Mark] = [Mark(seq, at, number or place) for place, (seq, at, number) in enumerate(rows, 1)]
        self.state = ViewState()
        """The state at `position`."""
        load_older(self.state, journal)
        self.items = ItemHistory()
        """The items of a search, up to the newest event that was folded."""
        self._checkpoints = ViewCheckpoints(every)

    @property
    def position(self) -> int:
        """The last event that `state` contains; 0 before the first."""
        return self.state.last_seq

    @property
    def number(self) -> int:
        """The number of the step or pass that began last; 0 before the first."""
        place = bisect_right(self.marks, self.position, key=lambda mark: mark.seq)
        return self.marks[place - 1].number if place else 0

    def go_to(self, seq: int) -> ViewState:
        """Return the state after that event. Raises JournalError."""
        self.approach(seq, float("inf"))
        return self.state

    def approach(self, seq: int, within: float) -> bool:
        """Fold toward that event for about `within` seconds. Return whether it was reached. Raises JournalError."""
        seq = max(0, min(seq, self.last))
        nearest = self._checkpoints.newest_until(seq)
        if seq < self.position or nearest > self.position:
            self.state = self._checkpoints.state_at(nearest)
            load_older(self.state, self.journal)
        until = time.monotonic() + within
        while self.position < seq:
            every = self._checkpoints.every
            limit = min(_BATCH, every - self.position % every, seq - self.position)
            events = [s for s in self.journal.read(self.position, limit) if s.seq <= seq]
            if not events:
                return True
            self.take(events)
            if time.monotonic() > until:
                break
        return self.position >= seq

    def after(self, limit: int) -> Sequence[Stamped]:
        """Return the next events, at most `limit`. Raises JournalError."""
        return [s for s in self.journal.read(self.position, limit) if s.seq <= self.last]

    def take(self, events: Sequence[Stamped]) -> ViewState:
        """Fold these next events into the state and return it."""
        reduce_all(self.state, events)
        if self.is_search:
            for stamped in events:
                self.items.take(stamped)
        self._checkpoints.add(self.state)
        return self.state

    def mark_before(self, seq: int) -> int:
        """Return the event with which the previous step or pass began, or 0 if there is none."""
        place = bisect_left(self.marks, seq, key=lambda mark: mark.seq)
        return self.marks[place - 1].seq if place else 0

    def mark_after(self, seq: int) -> int:
        """Return the event with which the next step or pass begins; the last event if there is none."""
        place = bisect_right(self.marks, seq, key=lambda mark: mark.seq)
        return self.marks[place].seq if place < len(self.marks) else self.last

    def _at(self, seq: int) -> float:
        rows = self.journal.rows(_AT, [seq])
        return float(rows[0][0]) if rows else 0.0
