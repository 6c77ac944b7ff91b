"""The rows of each view of the board. Very long lists are read from the journal, in pages when they become visible."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

from rundry.agent import FrontierView, ItemDuplicate, ItemFailed, ItemQueued, ItemRow, ItemState, plural

from ..text.show_text import one_line
from .board_data import arranged
from .board_view import Listing
from .finding_rows import finding_row
from .item_rows import duplicate_row, latest_row, queued_row, set_aside_row
from .lens_rows import lens_row

if TYPE_CHECKING:
    from rundry.agent import Finding, Journal, LensFacts, Stamped

    from .board_data import BoardData
    from .board_view import BoardView
    from .row_cells import Row

PAGE = 200
_KEPT = 12
_NEWEST = "SELECT seq FROM events WHERE type = 'item_duplicate' AND seq < ? ORDER BY seq DESC LIMIT ?"
_OLDER = "SELECT seq FROM events WHERE type = 'item_duplicate' AND seq < ? ORDER BY seq DESC LIMIT 1 OFFSET ?"
_END = 2**62
RENEW_SECONDS = 1.0
"""Seconds between two readings of a long list whose first rows are visible."""

_JUDGING = "judging"
_T = TypeVar("_T")
_Item = TypeVar("_Item", bound="ItemRow | ItemFailed | ItemDuplicate | ItemQueued")


def listing_of(data: BoardData, view: BoardView, item_lists: ItemLists | None) -> Listing:
    """Return the rows of the present view."""
    match view.tab:
        case "findings":
            return Findings(data)
        case "lenses":
            return Lenses(data)
        case "latest":
            return Latest(data)
        case "queue":
            return Listing(empty="the queue cannot be read") if item_lists is None else Queue(data, item_lists)
        case "failed":
            return Failed(data, item_lists)
        case "duplicates":
            return Duplicates(data, item_lists)
        case "work" | "":
            return Listing()


class Findings(Listing):
    """What was found, with its verdict."""

    groups = ("confirmed", _JUDGING, "refuted")

    def __init__(self, data: BoardData) -> None:
        self._data, self._found = data, arranged(data)
        self._places = {finding.key: at for at, finding in enumerate(self._found)}
        self.grows = not data.is_over
        if data.is_over:
            empty = "no findings"
        elif data.by_lenses:
            running = sum(lens.since is not None for lens in data.facts.lenses.values())
            count = running or len(data.facts.lenses)
            empty = f"nothing found yet: {plural(count, 'lens')} {'look' if count > 1 else 'looks'}"
        else:
            empty = "nothing found yet"
        super().__init__(len(self._found), empty)

    def draw(self, index: int, width: int) -> Row:
        """Return the row of a finding."""
        return finding_row(self._data, self._found[index], width)

    def key(self, index: int) -> str | None:
        """Return the key of a finding."""
        return self._found[index].key

    def find(self, key: str) -> int | None:
        """Return the index of a finding."""
        return self._places.get(key)

    def group(self, index: int) -> str:
        """Return the verdict."""
        return self._found[index].verdict or _JUDGING

    def words(self, index: int) -> str:
        """Return the whole text of a finding."""
        return _said(self._found[index])


class Lenses(Listing):
    """The lenses of a search."""

    def __init__(self, data: BoardData) -> None:
        self._data, self._found = data, list(data.facts.lenses.values())
        self._names = [lens.name for lens in self._found]
        super().__init__(len(self._found), "no lens")

    def draw(self, index: int, width: int) -> Row:
        """Return the row of a lens."""
        return lens_row(self._data, self._found[index], width)

    def key(self, index: int) -> str | None:
        """Return the name of a lens."""
        return self._names[index]

    def find(self, key: str) -> int | None:
        """Return the index of a lens."""
        return self._names.index(key) if key in self._names else None

    def group(self, index: int) -> str:
        """Return the state of a lens."""
        return _state_of(self._found[index])

    def words(self, index: int) -> str:
        """Return name, prompt, state and last result of a lens."""
        lens = self._found[index]
        return f"{lens.name} {lens.prompt} {_state_of(lens)} {lens.last}"


class _Items(Listing, ABC, Generic[_Item]):
    """The base of the lists of items."""

    @abstractmethod
    def item(self, index: int) -> _Item | None:
        """Return the entry at an index, or None if it is not in the list any more."""

    def key(self, index: int) -> str | None:
        """Return the key of an item."""
        item = self.item(index)
        return item.key if item is not None else None

    def describe(self, index: int) -> list[tuple[str, str]]:
        """Return what is known about an item."""
        return _described(self.item(index))


class Latest(_Items[ItemQueued]):
    """The items that were found last, the newest at the end."""

    grows = True

    def __init__(self, data: BoardData) -> None:
        self._data, self._found = data, list(data.state.progress.latest)
        self._places = {event.key: at for at, event in enumerate(self._found)}
        super().__init__(len(self._found), "no items" if data.is_over else "no items yet: searching for the first ones")

    def item(self, index: int) -> ItemQueued | None:
        """Return the event that reported the item."""
        return self._found[index]

    def draw(self, index: int, width: int) -> Row:
        """Return the row of an item."""
        return latest_row(self._data, self._found[index], width)

    def find(self, key: str) -> int | None:
        """Return the index of an item."""
        return self._places.get(key)

    def group(self, index: int) -> str:
        """Return where the item comes from."""
        return _from(self._found[index].source)


class Queue(_Items[ItemRow]):
    """The items that are not worked yet: those that wait for a later try first, then those taken out for a worker."""

    def __init__(self, data: BoardData, item_lists: ItemLists) -> None:
        self._data, self._lists = data, item_lists
        self._ready, self._waiting, _ = item_lists.counts()
        self._first = self._waiting + len(item_lists.ahead)
        super().__init__(self._first + self._ready, "the queue is empty")

    def item(self, index: int) -> ItemRow | None:
        """Return the item, or None if it is not queued any more."""
        lists = self._lists
        if index < self._waiting:
            return lists.waiting[index]
        return lists.ahead[index - self._waiting] if index < self._first else lists.queue[index - self._first]

    def draw(self, index: int, width: int) -> Row:
        """Return the row of an item."""
        return queued_row(self._data, self.item(index), width)

    def find(self, key: str) -> int | None:
        """Return the index of an item among the first ones of each part."""
        lists = self._lists
        for items, start, count in (
            (lists.waiting, 0, self._waiting),
            (lists.ahead, self._waiting, len(lists.ahead)),
            (lists.queue, self._first, self._ready),
        ):
            found = _near(key, items, start, min(count, PAGE))
            if found is not None:
                return found
        return None

    def group(self, index: int) -> str:
        """Return how the item came into the queue."""
        return _waits_as(self.item(index))


class Failed(_Items["ItemRow | ItemFailed"]):
    """The items that failed permanently. Without a journal, those that the view remembers."""

    def __init__(self, data: BoardData, item_lists: ItemLists | None) -> None:
        self._data, self._lists = data, item_lists
        self._recent = [event for event in data.facts.recent if isinstance(event, ItemFailed) and event.final]
        super().__init__(len(self._recent) if item_lists is None else item_lists.counts()[2], "nothing has failed")

    def item(self, index: int) -> ItemRow | ItemFailed | None:
        """Return the item, or None if it is not in the list any more."""
        return self._recent[index] if self._lists is None else self._lists.set_aside[index]

    def draw(self, index: int, width: int) -> Row:
        """Return the row of an item."""
        return set_aside_row(self._data, self.item(index), width)

    def group(self, index: int) -> str:
        """Return the error."""
        return _error_of(self.item(index))


class Duplicates(_Items[ItemDuplicate]):
    """The items that surfaced again, the newest first. Without a journal, those that the view remembers."""

    looked = 1_000  # each is read by itself

    def __init__(self, data: BoardData, item_lists: ItemLists | None) -> None:
        self._data, self._lists = data, item_lists
        self._recent = [event for event in reversed(data.facts.recent) if isinstance(event, ItemDuplicate)]
        super().__init__(len(self._recent) if item_lists is None else data.facts.duplicates, "no duplicates")

    def item(self, index: int) -> ItemDuplicate | None:
        """Return the event that reported the item, or None if it cannot be read."""
        if self._lists is None:
            return self._recent[index]
        stamped = self._lists.duplicates[index]
        return stamped.event if stamped is not None and isinstance(stamped.event, ItemDuplicate) else None

    def draw(self, index: int, width: int) -> Row:
        """Return the row of an item."""
        return duplicate_row(self._data, self.item(index), width)

    def group(self, index: int) -> str:
        """Return where the item surfaced again."""
        return _found_by(self.item(index))


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


def _said(finding: Finding) -> str:
    """Return the text of a finding, in which a filter searches."""
    verdict = finding.verdict or _JUDGING
    return " ".join([finding.title, finding.evidence, finding.source, verdict, finding.detail, *finding.reasons])


def _state_of(lens: LensFacts) -> str:
    """Return the state of a lens in a word."""
    if lens.failed is not None:
        return "failed"
    if lens.since is not None:
        return "running"
    return "resting" if lens.passes else "never ran"


def _waits_as(item: ItemRow | None) -> str:
    """Return how an item came into the queue."""
    if item is None:
        return ""
    return "retry" if item.attempts else _from(item.source)


def _from(source: str) -> str:
    return {"seed": "seeds", "person": "by you"}.get(source) or f"from {source}"


def _error_of(item: ItemRow | ItemFailed | None) -> str:
    return "" if item is None else one_line(item.error) or "no reason"


def _found_by(event: ItemDuplicate | None) -> str:
    return "" if event is None else _from(event.source)


def _near(key: str, pages: Pages[ItemRow] | list[ItemRow], first: int, count: int) -> int | None:
    """Return the index of an entry if it is among the first ones."""
    for index in range(count):
        item = pages[index]
        if item is not None and item.key == key:
            return first + index
    return None


def _described(entry: ItemRow | ItemFailed | ItemDuplicate | ItemQueued | None) -> list[tuple[str, str]]:
    match entry:
        case None:
            return [("", "it no longer exists")]
        case ItemRow():
            pairs = [("item", entry.value), ("key", entry.key), ("kind", entry.kind), ("from", entry.source)]
            failed = plural(entry.attempts, "time") if entry.attempts else ""
            return [*pairs, ("failed", failed), ("error", entry.error)]
        case ItemFailed():
            return [("key", entry.key), ("failed", plural(entry.attempts, "time")), ("error", entry.error)]
        case ItemDuplicate():
            return [("spelled", entry.value or entry.key), ("key", entry.key), ("from", entry.source)]
        case ItemQueued():
            return [("item", entry.value), ("key", entry.key), ("kind", entry.kind), ("from", entry.source)]
