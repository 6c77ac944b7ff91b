"""What is still to come of a diff that is shown already."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from .model import Diff, Stretch

FIRST_ROWS = 300
"""More than any screen has."""
_LEAST_ROWS = 80
FIRST_SECONDS = 0.02
"""After which `_LEAST_ROWS` have to do."""
_ROWS = 10_000
_RUN, _PAUSE = 0.001, 0.0002
"""Seconds for which a thread works on, and for which it then lets the screen go first."""


class Feed(NamedTuple):
    """An empty diff and the pieces that it will be made of."""

    diff: Diff
    stretches: Iterator[Stretch]

    def first(self) -> tuple[list[Stretch], bool]:
        """The first screens, and whether that is all."""
        until = time.perf_counter() + FIRST_SECONDS
        found: list[Stretch] = []
        rows = 0
        for stretch in self.stretches:
            found.append(stretch)
            rows += len(stretch.above) + len(stretch.rows)
            if rows >= FIRST_ROWS or (rows >= _LEAST_ROWS and time.perf_counter() > until):
                return found, False
        return found, True

    def more(self, wanted: Callable[[], bool]) -> tuple[list[Stretch], bool]:
        """The next thousands of rows, and whether that is all; for a thread, which gives way to the screen."""
        found: list[Stretch] = []
        rows, worked = 0, time.perf_counter()
        for stretch in self.stretches:
            found.append(stretch)
            rows += len(stretch.above) + len(stretch.rows)
            if rows >= _ROWS or not wanted():
                return found, False
            if time.perf_counter() - worked > _RUN:
                time.sleep(_PAUSE)
                worked = time.perf_counter()
        return found, True
