"""Time in a replay: events are as far apart as in the run, divided by the speed. Long silences are shortened."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rundry.agent import Stamped

    from .timeline import Timeline

SPEEDS = (1, 4, 16, 64)
MOST_SILENCE = 2.0
"""Seconds of a silence that are played; the rest is skipped."""
MOST_OWED = 4.0
"""Seconds of the run that are caught up if folding takes longer than playing."""
SLICE_SECONDS = 0.05
"""Seconds of folding between two chances for keys and drawing."""
_AT_ONCE = 512
"""Number of events that are read ahead."""


class Player:
    """Moves through a run at a chosen speed, or on command."""

    def __init__(self, timeline: Timeline, speed: int = 1) -> None:
        self.timeline = timeline
        self.speed = speed
        self.playing = True
        self._owed = 0.0
        """Seconds of the run that have passed and are not played yet."""
        self._goal: int | None = None
        """The event to which it is moving."""
        self._ahead: Sequence[Stamped] = ()

    @property
    def is_at_end(self) -> bool:
        """Whether nothing is left to play."""
        return self.place >= self.timeline.last

    @property
    def place(self) -> int:
        """The present event, or the one to which it is moving."""
        return self.timeline.position if self._goal is None else self._goal

    @property
    def now(self) -> float:
        """Unix time in the run: that of the newest event, plus the time that has passed since."""
        return (self.timeline.state.last_at or self.timeline.began_at) + min(self._owed, MOST_SILENCE)

    def advance(self, seconds: float) -> bool:
        """Move on by this number of real seconds. Return whether anything changed. Raises JournalError."""
        if self._goal is not None:
            self._travel()
            return True
        if not self.playing or self.is_at_end:
            self.playing = self.playing and not self.is_at_end
            self._owed = 0.0 if self.is_at_end else self._owed
            return False
        self._owed += seconds * self.speed
        until, moved = time.monotonic() + SLICE_SECONDS, False
        while due := self._due():
            self.timeline.take(due)
            moved = True
            if time.monotonic() > until:
                self._owed = min(self._owed, MOST_OWED)
                break
        return moved

    def _due(self) -> Sequence[Stamped]:
        """Return the next events whose time has come."""
        if not self._ahead:
            self._ahead = self.timeline.after(_AT_ONCE)
        now, due = self.timeline.state.last_at or self.timeline.began_at, 0
        for stamped in self._ahead:
            gap = min(max(0.0, stamped.at - now), MOST_SILENCE)
            if gap > self._owed:
                break
            self._owed -= gap
            now = stamped.at
            due += 1
        found, self._ahead = self._ahead[:due], self._ahead[due:]
        return found

    def toggle(self) -> None:
        """Pause or play; at the end, play from the start. Raises JournalError."""
        if self.is_at_end:
            self.go_to(0)
            self.playing = True
        else:
            self.playing = not self.playing

    def go_to(self, seq: int) -> None:
        """Move to an event, and play on if it played. `advance` moves a long way in slices. Raises JournalError."""
        self._goal, self._owed, self._ahead = max(0, min(seq, self.timeline.last)), 0.0, ()
        self._travel()

    def _travel(self) -> None:
        if self._goal is not None and self.timeline.approach(self._goal, SLICE_SECONDS):
            self._goal = None

    def faster(self, by: int) -> None:
        """Choose the next speed, or with -1 the previous one."""
        place = SPEEDS.index(self.speed) if self.speed in SPEEDS else 0
        self.speed = SPEEDS[max(0, min(len(SPEEDS) - 1, place + by))]
