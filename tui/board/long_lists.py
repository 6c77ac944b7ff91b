"""Long lists of a search that the journal keeps, read again after some time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .list_pages import ItemLists

if TYPE_CHECKING:
    from rundry.agent import Journal

RENEW_SECONDS = 1.0
"""Seconds between two readings of a long list whose first rows are visible."""


class ListSource:
    """Reads the lists of the journal that the board shows."""

    def __init__(self, journal: Journal | None = None, item_lists: ItemLists | None = None) -> None:
        self._journal: Journal | None = journal
        self._renewed_at = float("-inf")
        self.item_lists: ItemLists | None = item_lists
        """The lists as they were last read, or None if there is no journal."""

    def use(self, journal: Journal | None) -> None:
        """Read the items of this journal from now on."""
        if journal is not self._journal:
            self._journal, self.item_lists = journal, ItemLists(journal) if journal is not None else None

    def waiting(self, now: float, *, is_idle: bool) -> tuple[int, float | None]:
        """Return the number of items that wait for a later try, and the time of the next one if nothing runs."""
        if self.item_lists is None:
            return 0, None
        count = self.item_lists.counts()[1]
        return count, self.item_lists.next_due(now) if count and is_idle else None

    def expire(self) -> None:
        """Let the next `renew` read the lists, however soon it comes."""
        self._renewed_at = float("-inf")

    def renew(self, clock: float, worked: set[str], *, is_at_top: bool) -> None:
        """Read the lists again after `RENEW_SECONDS`, if their first rows are visible. `worked`: items in progress."""
        if self.item_lists is None or clock - self._renewed_at < RENEW_SECONDS:
            return
        self._renewed_at = clock
        if is_at_top:
            self.item_lists.renew(worked)
