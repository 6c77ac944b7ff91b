"""Looks at the journal again and again, as long as the screen stands. No textual in here."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable
from dataclasses import dataclass

from rundry.agent import RundryError

from ..desk import Desk

CLOCK_SECONDS = 0.25
"""Without news the view is drawn again this often: clocks go on, notices fade."""
BUSY_SECONDS, QUIET_SECONDS = 1 / 60, 1 / 20
"""Between two looks at the journal: while something happens, and while nothing does (DESIGN 4.9)."""
BEHIND_SECONDS = 0.5
"""While a long journal is read, so much of it is not drawn in between."""
BEAT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Onlooker:
    """Who is told what was seen."""

    redraw: Callable[[], None]
    tell: Callable[[str], None]
    """A line for the person."""
    is_impatient: Callable[[], bool]
    """Every look is to be drawn."""
    looked: Callable[[], None]
    """After each look."""


class Looking:
    """Brings the desk up to date, and has drawn what is worth it."""

    def __init__(self, desk: Desk, onlooker: Onlooker) -> None:
        self._desk, self._onlooker = desk, onlooker
        self._drawn_at = 0.0

    def draw_soon(self) -> None:
        """At the next look, whatever it brings."""
        self._drawn_at = 0.0

    async def follow(self) -> None:
        """Never returns."""
        quiet_since = beat_at = time.monotonic()
        while True:
            if self._look():
                quiet_since = time.monotonic()
            _spare_the_collector(self._desk.is_behind)
            if time.monotonic() - beat_at > BEAT_SECONDS:
                beat_at = time.monotonic()
                self._desk.link.beat()
            busy = time.monotonic() - quiet_since < 1.0 or bool(self._desk.state.activity)
            await asyncio.sleep(0 if self._desk.is_behind else BUSY_SECONDS if busy else QUIET_SECONDS)

    def _look(self) -> bool:
        desk, onlooker = self._desk, self._onlooker
        try:
            moved = desk.catch_up()
        except RundryError as error:
            onlooker.tell(str(error))
            moved = False
        age = time.monotonic() - self._drawn_at
        if age > BEHIND_SECONDS if desk.is_behind else moved or onlooker.is_impatient() or age > CLOCK_SECONDS:
            self._drawn_at = time.monotonic()
            onlooker.redraw()
        onlooker.looked()
        return moved


def _spare_the_collector(is_behind: bool) -> None:
    """What a long journal brings stays for good: looking through it for garbage costs a third of reading it."""
    if is_behind and gc.isenabled():
        gc.disable()
    elif not is_behind and not gc.isenabled():
        gc.freeze()
        gc.enable()
