"""Read very long lists from the journal page by page when they become visible. Does not import textual."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
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


class Pages(Generic[_T]):
    """A list that is read in pages, each after the place where the previous one ended.

    Of pages that are not visible, only the place of their start is kept. An entry that has left the list since reads as
    None.
    """

    def __init__(
        self,
        read: Callable[[int, int], Sequence[_T]],
        place: Callable[[_T], int],
        first: int,
        leap: Callable[[int, int], int | None] = lambda after, count: None,
    ) -> None:
        """Create a list that reads pages on demand.

        `read` returns at most `limit` entries after a place; `first` is the place before all entries. `leap` returns
        the place of the entry `count` entries after a place, without reading those between; None: not possible.
        """
        self._read, self._place, self._first, self._leap = read, place, first, leap
        self._starts = [first]
        self._sizes: list[int] = []
        self._kept: OrderedDict[int, list[_T | None]] = OrderedDict()

    def renew(self) -> None:
        """Read all pages from the journal again."""
        self._starts = [self._first]
        self._sizes.clear()
        self._kept.clear()

    def __getitem__(self, index: int) -> _T | None:
        """Return the entry; None: it is not in the list, or no longer."""
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
        end = self._leap(self._starts[-1], PAGE)
        if end is None:
            return False
        self._sizes.append(PAGE)
        self._starts.append(end)
        return True

    def _load(self, number: int) -> None:
        found = list(self._read(self._starts[number], PAGE))
        if number == len(self._sizes):
            self._sizes.append(len(found))
            self._starts.append(self._place(found[-1]) if found else self._starts[number])
            page: list[_T | None] = [*found]
        else:  # a page that was read before: entries may be gone, and the following ones belong to the next page
            end, forward = self._starts[number + 1], self._first < _END
            page = [e for e in found if (self._place(e) <= end if forward else self._place(e) >= end)]
            page += [None] * (self._sizes[number] - len(page))
        self._kept[number] = page
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)


class ItemLists:
    """The items in the journal of a run, for the board."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._view = FrontierView(journal)
        self.version = 0
        """Changes when the lists are read again."""
        self.ahead: list[ItemRow] = []
        """Items that were taken out of the queue for the next free worker, but are not in progress yet."""
        self.queue = self._of(ItemState.QUEUED)
        self.waiting = self._of(ItemState.WAITING)
        self.set_aside = self._of(ItemState.SET_ASIDE)
        self.duplicates = Pages(self._duplicates, lambda stamped: stamped.seq, _END, self._older)

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

    def _of(self, state: ItemState) -> Pages[ItemRow]:
        return Pages(
            lambda after, limit: self._view.page(state, after=after, limit=limit),
            lambda row: row.number,
            0,
            lambda after, count: self._view.place_behind(state, after, count),
        )

    def _older(self, before: int, count: int) -> int | None:
        return next((seq for (seq,) in self._journal.rows(_OLDER, (before, count - 1))), None)

    def _duplicates(self, before: int, limit: int) -> list[Stamped]:
        found: list[Stamped] = []
        for (seq,) in self._journal.rows(_NEWEST, (before, limit)):
            found += [each for each in self._journal.read(seq - 1, 1) if isinstance(each.event, ItemDuplicate)]
        return found
