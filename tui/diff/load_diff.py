"""Read the pieces of a diff: its first screens immediately, then thousands of rows each time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from .diff_rows import Diff, DiffPart

Begin = Callable[[], tuple[Diff, Iterator[DiffPart]]]
"""Return an empty diff and the pieces that it will consist of."""
_FIRST_ROWS = 300
"""More rows than any screen has."""
_LEAST_ROWS = 80
_FIRST_SECONDS = 0.02
"""Time after which `_LEAST_ROWS` are enough."""
_ROWS = 10_000
_RUN, _PAUSE = 0.001, 0.0002
"""Seconds for which a thread works, and for which it then pauses in favour of the screen."""


class DiffFeed(NamedTuple):
    """An empty diff and the pieces that it will consist of."""

    diff: Diff
    stretches: Iterator[DiffPart]

    def first(self) -> tuple[list[DiffPart], bool]:
        """Return the first screens, and whether they are all."""
        until = time.perf_counter() + _FIRST_SECONDS
        found: list[DiffPart] = []
        rows = 0
        for stretch in self.stretches:
            found.append(stretch)
            rows += len(stretch.above) + len(stretch.rows)
            if rows >= _FIRST_ROWS or (rows >= _LEAST_ROWS and time.perf_counter() > until):
                return found, False
        return found, True

    def more(self, wanted: Callable[[], bool]) -> tuple[list[DiffPart], bool]:
        """Return the next thousands of rows, and whether they are the last.

        Runs in a thread, which pauses for the screen.
        """
        found: list[DiffPart] = []
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
