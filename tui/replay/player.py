"""Time in a replay: events come as far apart as they did, divided by the speed; long silences are cut short."""

from __future__ import annotations

from .film import Film

SPEEDS = (1, 4, 16, 64)
MOST_SILENCE = 2.0
"""Seconds of a silence that are played; a person who was away for an hour is not waited for again."""
_AT_ONCE = 512
"""Events that one look plays at most."""


class Player:
    """Plays a film."""

    def __init__(self, film: Film, speed: int = 1) -> None:
        self.film = film
        self.speed = speed
        self.playing = True
        self._owed = 0.0
        """Seconds of the run that passed and are not played yet."""

    @property
    def is_at_end(self) -> bool:
        """Nothing is left to play."""
        return self.film.position >= self.film.last

    def advance(self, seconds: float) -> bool:
        """So many real seconds passed: true when events were played. Raises JournalError."""
        if not self.playing or self.is_at_end:
            self.playing = self.playing and not self.is_at_end
            return False
        self._owed += seconds * self.speed
        state = self.film.state
        now = state.last_at or self.film.began_at
        due = 0
        upcoming = self.film.after(_AT_ONCE)
        for stamped in upcoming:
            gap = min(max(0.0, stamped.at - now), MOST_SILENCE)
            if gap > self._owed:
                break
            self._owed -= gap
            now = stamped.at
            due += 1
        if due == len(upcoming):
            self._owed = 0.0
        self.film.take(upcoming[:due])
        return due > 0

    def toggle(self) -> None:
        """Stop or go on; at the end it begins anew."""
        if self.is_at_end:
            self.film.go_to(0)
            self.playing = True
        else:
            self.playing = not self.playing
        self._owed = 0.0

    def go_to(self, seq: int) -> None:
        """There, and on from there if it played. Raises JournalError."""
        self.film.go_to(seq)
        self._owed = 0.0

    def faster(self, by: int) -> None:
        """The next speed, or with -1 the one before."""
        place = SPEEDS.index(self.speed) if self.speed in SPEEDS else 0
        self.speed = SPEEDS[max(0, min(len(SPEEDS) - 1, place + by))]
