"""Read very long lists from the journal page by page when they become visible. Does not import textual."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

from rundry.agent import FrontierView, ItemDuplicate, ItemState

if TYPE_CHECKING:
    from rundry.agent import ItemRow, Journal, Stamped

PAGE = 200
_KEPT = 12
_NEWEST = "SELECT seq FROM events WHERE type = 'item_duplicate' AND seq < ? ORDER BY seq DESC LIMIT ?"
_OLDER = "SELECT seq FROM events WHERE type = 'item_duplicate' AND seq < ? ORDER BY seq DESC LIMIT 1 OFFSET ?"
_END = 2**62

_T = TypeVar("_T")


class Pages(ABC, Generic[_T]):
    """A list that is read in pages, each after the place where the previous one ended.

    Of pages that are not visible, only the place of their start is kept. An entry that has left the list since reads as
    None.
    """

    def __init__(self, first: int) -> None:
        """`first`: the place before all entries."""
        self._first = first
        self._starts = [first]
        self._sizes: list[int] = []
        self._kept: OrderedDict[int, list[_T | None]] = OrderedDict()

    @abstractmethod
    def read(self, after: int, limit: int) -> Sequence[_T]:
        """Return at most `limit` entries after a place."""

    @abstractmethod
    def place(self, entry: _T) -> int:
        """Return the place of an entry."""

    def leap(self, after: int, count: int) -> int | None:
        """Return the place of the entry `count` entries after a place, without reading those between.

        None: not possible.
        """
        del after, count
        return None

    def renew(self) -> None:
        """Read all pages from the journal again."""
        self._starts = [self._first]
        self._sizes.clear()
        self._kept.clear()

    def __getitem__(self, index: int) -> _T | None:
        """Return the entry, or None if it is not in the list."""
        number, at = divmod(index, PAGE)
        page = self._page(number)
        return page[at] if page is not None and at < len(page) else None

    def _page(self, number: int) -> list[_T | None] | None:
        while len(self._sizes) <= number:
            if self._sizes and self._sizes[-1] < PAGE:
                return None
            if len(self._sizes) == number or not self._pass_over():
                self._load(len(self._sizes))
        if number not in self._kept:
            self._load(number)
        self._kept.move_to_end(number)
        return self._kept[number]

    def _pass_over(self) -> bool:
        """Skip the next page if it is complete and not visible. Only the place of its end is read."""
        end = self.leap(self._starts[-1], PAGE)
        if end is None:
            return False
        self._sizes.append(PAGE)
        self._starts.append(end)
        return True

    def _load(self, number: int) -> None:
        found = list(self.read(self._starts[number], PAGE))
        if number == len(self._sizes):
            self._sizes.append(len(found))
            self._starts.append(self.place(found[-1]) if found else self._starts[number])
            page: list[_T | None] = [*found]
        else:  # a page that was read before: entries may be gone, and the following ones belong to the next page
            end, forward = self._starts[number + 1], self._first < _END
            page = [e for e in found if (self.place(e) <= end if forward else self.place(e) >= end)]
            page += [None] * (self._sizes[number] - len(page))
        self._kept[number] = page
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)


class _ItemPages(Pages["ItemRow"]):
    """The items in one state, in the order in which they were queued."""

    def __init__(self, view: FrontierView, state: ItemState) -> None:
        super().__init__(0)
        self._view, self._state = view, state

    def read(self, after: int, limit: int) -> Sequence[ItemRow]:
        """Return the items after this number."""
        return self._view.page(self._state, after=after, limit=limit)

    def place(self, entry: ItemRow) -> int:
        """Return the number of an item."""
        return entry.number

    def leap(self, after: int, count: int) -> int | None:
        """Return the number of the item `count` items after this one."""
        return self._view.place_behind(self._state, after, count)


class DuplicatePages(Pages["Stamped"]):
    """The items that surfaced again, the newest first."""

    def __init__(self, journal: Journal, before: int = _END) -> None:
        """`before`: the event before which they were reported."""
        super().__init__(before)
        self._journal = journal

    def read(self, after: int, limit: int) -> Sequence[Stamped]:
        """Return the events before this one."""
        found: list[Stamped] = []
        for (seq,) in self._journal.rows(_NEWEST, (after, limit)):
            found += [each for each in self._journal.read(seq - 1, 1) if isinstance(each.event, ItemDuplicate)]
        return found

    def place(self, entry: Stamped) -> int:
        """Return the number of the event."""
        return entry.seq

    def leap(self, after: int, count: int) -> int | None:
        """Return the number of the event `count` of them before this one."""
        return next((seq for (seq,) in self._journal.rows(_OLDER, (after, count - 1))), None)


class ItemLists:
    """The items in the journal of a run, for the board."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._view = FrontierView(journal)
        self.version = 0
        """Changes when the lists are read again."""
        self.ahead: list[ItemRow] = []
        """Items that were taken out of the queue for the next free worker, but are not in progress yet."""
        self.queue: Pages[ItemRow] = _ItemPages(self._view, ItemState.QUEUED)
        self.waiting: Pages[ItemRow] = _ItemPages(self._view, ItemState.WAITING)
        self.set_aside: Pages[ItemRow] = _ItemPages(self._view, ItemState.SET_ASIDE)
        self.duplicates: Pages[Stamped] = DuplicatePages(journal)

    def renew(self, in_flight: Collection[str]) -> None:
        """Read everything again. `in_flight`: keys of the items in progress."""
        self.version += 1
        for pages in (self.queue, self.waiting, self.set_aside, self.duplicates):
            pages.renew()
        taken = self._view.page(ItemState.WORKING, limit=len(in_flight) + PAGE)
        self.ahead = [row for row in taken if row.key not in in_flight]

    def counts(self) -> tuple[int, int, int]:
        """Return how many items are queued and due, wait for their time, and failed permanently."""
        found = self._view.counts()
        return found.queued - found.waiting, found.waiting, found.set_aside

    def next_due(self, now: float) -> float | None:
        """Return the Unix time at which the next item is tried again."""
        return self._view.next_due(now)
