"""Load a change into a pane: its first rows before the next paint, the rest in threads."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from textual.widget import Widget

from .diff_rows import Diff, DiffPart, Row

Begin = Callable[[], tuple[Diff, Iterator[DiffPart]]]
"""Return an empty diff and the pieces that it will consist of."""
_MOST_BYTES = 1_000_000
"""Size of a change up to which it is read before the next paint. A larger one is read in a thread."""
_MANY_ROWS = 50_000
_FIRST_ROWS = 300
"""More rows than any screen has."""
_LEAST_ROWS = 80
_FIRST_SECONDS = 0.02
"""Time after which `_LEAST_ROWS` are enough."""
_ROWS = 10_000
_RUN, _PAUSE = 0.001, 0.0002
"""Seconds for which a thread works, and for which it then pauses in favour of the screen."""


class DiffLoader:
    """Loads one change at a time. The results of a change are dropped once the next one is loaded."""

    def __init__(
        self,
        pane: Widget,
        *,
        waiting: Callable[[], None],
        opened: Callable[[Diff], None],
        added: Callable[[Sequence[Row]], None],
        finished: Callable[[Diff], None],
    ) -> None:
        """`waiting`: no row is known yet. `opened`: the first rows are known. `added`: more rows. `finished`: all."""
        self._pane = pane
        self._waiting, self._opened, self._added, self._finished = waiting, opened, added, finished
        self._request = 0
        """Number of the newest change; threads that work for an earlier one are ignored."""

    def load(self, begin: Begin, size: int) -> None:
        """Load a change of `size` bytes."""
        self._request += 1
        if size <= _MOST_BYTES:
            feed = _Feed(*begin())
            self._open(feed, *feed.first())
        else:
            self._waiting()
            self._pane.run_worker(self._open_later(self._request, begin), exit_on_error=False)

    def stop(self) -> None:
        """Ignore what threads return from now on."""
        self._request += 1

    def _is_wanted(self, request: int) -> bool:
        return request == self._request and self._pane.is_attached

    async def _open_later(self, request: int, begin: Begin) -> None:
        def first() -> tuple[_Feed, list[DiffPart], bool]:
            feed = _Feed(*begin())
            return feed, *feed.first()

        found = await asyncio.to_thread(first)
        if self._is_wanted(request):
            self._open(*found)

    def _open(self, feed: _Feed, first: list[DiffPart], is_all: bool) -> None:
        feed.diff.add(first)
        feed.diff.complete = is_all
        self._opened(feed.diff)
        if is_all:
            self._finished(feed.diff)
        else:
            self._pane.run_worker(self._read_rest(self._request, feed), exit_on_error=False)

    async def _read_rest(self, request: int, feed: _Feed) -> None:
        diff, is_all = feed.diff, False
        while not is_all:
            stretches, is_all = await asyncio.to_thread(feed.more, lambda: self._is_wanted(request))
            if not self._is_wanted(request):
                return
            count = len(diff.rows)
            diff.add(stretches)
            self._added(diff.rows[count:])
        diff.complete = True
        if len(diff.rows) > _MANY_ROWS:
            gc.freeze()  # a collection that visits half a million rows takes 30 ms
        self._finished(diff)


class _Feed(NamedTuple):
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
