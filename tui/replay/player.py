"""Time in a replay: events come as far apart as they did, divided by the speed; long silences are cut short."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rundry.agent import Stamped

from .film import Film

SPEEDS = (1, 4, 16, 64)
MOST_SILENCE = 2.0
"""Seconds of a silence that are played; a person who was away for an hour is not waited for again."""
MOST_OWED = 4.0
"""Seconds of the run that are made up for, where folding it takes longer than playing it."""
SLICE_SECONDS = 0.05
"""Of folding in one go: the keys are heard and the screen is drawn in between."""
_AT_ONCE = 512
"""Events that are read ahead."""


class Player:
    """Plays a film."""

    def __init__(self, film: Film, speed: int = 1) -> None:
        self.film = film
        self.speed = speed
        self.playing = True
        self._owed = 0.0
        """Seconds of the run that passed and are not played yet."""
        self._goal: int | None = None
        """The event that it is on its way to."""
        self._ahead: Sequence[Stamped] = ()

    @property
    def is_at_end(self) -> bool:
        """Nothing is left to play."""
        return self.place >= self.film.last

    @property
    def place(self) -> int:
        """The event at which it stands, or to which it is on its way."""
        return self.film.position if self._goal is None else self._goal

    @property
    def now(self) -> float:
        """Unix time of the run: that of the newest event, and what passed since."""
        return (self.film.state.last_at or self.film.began_at) + min(self._owed, MOST_SILENCE)

    def advance(self, seconds: float) -> bool:
        """So many real seconds passed: true when anything moved. Raises JournalError."""
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
            self.film.take(due)
            moved = True
            if time.monotonic() > until:
                self._owed = min(self._owed, MOST_OWED)
                break
        return moved

    def _due(self) -> Sequence[Stamped]:
        """The next events, as far as the time for them has come."""
        if not self._ahead:
            self._ahead = self.film.after(_AT_ONCE)
        now, due = self.film.state.last_at or self.film.began_at, 0
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
        """Stop or go on; at the end it begins anew. Raises JournalError."""
        if self.is_at_end:
            self.go_to(0)
            self.playing = True
        else:
            self.playing = not self.playing

    def go_to(self, seq: int) -> None:
        """There, and on from there if it played; a long way is gone in slices, by `advance`. Raises JournalError."""
        self._goal, self._owed, self._ahead = max(0, min(seq, self.film.last)), 0.0, ()
        self._travel()

    def _travel(self) -> None:
        if self._goal is not None and self.film.approach(self._goal, SLICE_SECONDS):
            self._goal = None

    def faster(self, by: int) -> None:
        """The next speed, or with -1 the one before."""
        place = SPEEDS.index(self.speed) if self.speed in SPEEDS else 0
        self.speed = SPEEDS[max(0, min(len(SPEEDS) - 1, place + by))]
