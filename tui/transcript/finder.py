"""Search the transcript: the entries in memory immediately, older ones while keys are handled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.widget import Widget

from .search import Found, Search

if TYPE_CHECKING:
    from rundry.agent import Blocks

_BATCH = 250
"""Entries that are searched between two keys."""


class Finder:
    """Runs one search at a time; a new one ends the one before."""

    def __init__(
        self, widget: Widget, *, matched: Callable[[Search], None], searched: Callable[[Found, float], object]
    ) -> None:
        """`matched`: go to the current match. `searched`: older entries were searched; the share of all so far."""
        self._widget = widget
        self._matched, self._searched = matched, searched
        self.search: Search | None = None
        """The search whose matches are highlighted."""
        self.is_searching = False
        """Older entries are being searched."""

    def find(self, text: str, blocks: Blocks, block: int) -> Found:
        """Go to the last match at or above a block. An empty text ends the search."""
        self.search = search = Search(text) if text.strip() else None
        self._widget.refresh()
        if search is None:
            return Found(0, 0)
        first = blocks.first
        search.add_matches(blocks, first, len(blocks))
        search.nearest(block)
        self._matched(search)
        self.is_searching = first > 0
        if self.is_searching:
            self._widget.run_worker(self._search_older(search, blocks, first), name="search", exclusive=True)
        return search.found

    def step(self, by: int) -> Found:
        """Go to the next match below, or above with -1. After the last match comes the first."""
        if self.search is None:
            return Found(0, 0)
        self.search.step(by)
        self._matched(self.search)
        return self.search.found

    async def _search_older(self, search: Search, blocks: Blocks, end: int) -> None:
        """Search the entries that are not in memory, the newest first."""
        while end > 0 and search is self.search:
            start, had_match = max(0, end - _BATCH), search.at >= 0
            search.add_matches(blocks, start, end)
            end = start
            self.is_searching = end > 0
            if search.at >= 0 and not had_match:
                self._matched(search)
            self._searched(search.found, 1 - end / max(1, len(blocks)))
            await asyncio.sleep(0)
