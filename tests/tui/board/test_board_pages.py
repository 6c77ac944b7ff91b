"""Long lists of the board come page by page from a real journal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.played_events import spec
from fakes.views.lens_search import Search, crawl

from rundry.agent import FinderSpec, FrontierView, ItemDuplicate, ItemState, Journal, LoopKind, ViewState, reduce_all
from rundry.agent.search.items.frontier import Frontier
from rundry.agent.search.items.item_state import Candidate
from rundry.tui.board.board_data import BoardData
from rundry.tui.board.board_lists import PAGE, ItemLists, Pages, listing_of
from rundry.tui.board.board_view import BoardView, Listing
from rundry.tui.theme.theme import shipped_palette


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    made = Journal.create(tmp_path / "r.db", spec(loop=LoopKind.UNTIL_DRY, finder=FinderSpec()))
    yield made
    made.close()


class Numbers(Pages[int]):
    def __init__(self, last: int, first: int) -> None:
        super().__init__(first)
        self.last, self.reads = last, list[int]()

    def read(self, after: int, limit: int) -> list[int]:
        self.reads.append(after)
        return list(range(after + 1, min(after + limit, self.last) + 1))

    def place(self, entry: int) -> int:
        return entry


class LeapingNumbers(Numbers):
    def leap(self, after: int, count: int) -> int | None:
        return after + count if after + count <= self.last else None


def filled(journal: Journal, count: int) -> Frontier:
    frontier = Frontier(journal)
    frontier.surface([Candidate("value", f"item {n}") for n in range(count)], "seed", Path("/"))
    return frontier


def test_a_queue_is_read_from_any_place_and_back_while_only_some_pages_are_kept(journal: Journal):
    count = 20 * PAGE + 7
    filled(journal, count)
    item_lists = ItemLists(journal)
    assert item_lists.counts()[0] == count
    assert FrontierView(journal).place_behind(ItemState.QUEUED, 0, count + 1) is None
    last, first = item_lists.queue[count - 1], item_lists.queue[0]
    assert last is not None and last.value == f"item {count - 1}"
    assert first is not None and first.value == "item 0"
    assert item_lists.queue[count] is None


def test_only_some_pages_are_kept_and_a_page_that_was_dropped_is_read_again():
    pages = Numbers(20 * PAGE - 1, first=-1)
    reads = pages.reads
    assert [pages[number * PAGE] for number in range(20)] == [number * PAGE for number in range(20)]
    whole = len(reads)
    assert pages[19 * PAGE] == 19 * PAGE and len(reads) == whole, "the newest page is kept"
    assert pages[0] == 0 and len(reads) == whole + 1, "the first one was dropped"


def queue_of(item_lists: ItemLists) -> Listing:
    state = ViewState()
    reduce_all(state, Search().stamp(crawl()))
    assert state.finder is not None and state.search is not None
    data = BoardData(state, state.finder, state.search, shipped_palette("dark"), now=0.0)
    return listing_of(data, BoardView(tab="queue"), item_lists)


def test_what_was_taken_out_of_the_queue_ahead_of_its_worker_is_listed_as_waiting(journal: Journal):
    frontier = filled(journal, 70)
    taken = frontier.check_out(64, 0.0)
    item_lists = ItemLists(journal)
    item_lists.renew({item.key for item in taken[:8]})
    listed = queue_of(item_lists)
    assert [listed.key(n) for n in range(listed.count)] == [f"item {n}" for n in range(8, 70)]
    assert [listed.find(f"item {n}") for n in (7, 8, 63, 64, 69)] == [None, 0, 55, 56, 61]


def test_what_left_the_queue_meanwhile_leaves_a_gap_and_moves_nothing(journal: Journal):
    frontier = filled(journal, 20 * PAGE)
    queue = ItemLists(journal).queue
    assert queue[20 * PAGE - 1] is not None
    frontier.take([f"item {n}" for n in range(10)])
    here = queue[PAGE]
    assert here is not None and here.value == f"item {PAGE}"
    found = [row.value for n in range(PAGE) if (row := queue[n]) is not None]
    assert "item 3" not in found and len(found) == PAGE - 10
    queue.renew()
    now = queue[0]
    assert now is not None and now.value == "item 10"


def test_a_place_far_down_is_reached_without_reading_what_lies_between():
    count = 500 * PAGE + 3
    pages = LeapingNumbers(count, first=0)
    assert (pages[count - 1], pages[count]) == (count, None)
    assert pages.reads == [500 * PAGE]
    assert (pages[0], pages[7 * PAGE]) == (1, 7 * PAGE + 1)


def test_what_failed_permanently_is_shown_with_its_reason(journal: Journal):
    frontier = filled(journal, 3)
    frontier.take(["item 1"])
    frontier.set_aside("item 1", "HTTP 500", 4)
    item_lists = ItemLists(journal)
    row = item_lists.set_aside[0]
    assert row is not None and (row.value, row.error, row.attempts) == ("item 1", "HTTP 500", 4)
    assert item_lists.counts() == (2, 0, 1)


def test_duplicates_come_newest_first_from_among_other_events(journal: Journal):
    for n in range(2 * PAGE + 5):
        journal.append(ItemDuplicate(key=f"k{n}", source="s"))
        if n % 50 == 0:
            filled(journal, 1)
    item_lists = ItemLists(journal)
    newest, oldest = item_lists.duplicates[0], item_lists.duplicates[2 * PAGE + 4]
    assert newest is not None and newest.event == ItemDuplicate(key=f"k{2 * PAGE + 4}", source="s")
    assert oldest is not None and oldest.event == ItemDuplicate(key="k0", source="s")
    assert item_lists.duplicates[2 * PAGE + 5] is None
