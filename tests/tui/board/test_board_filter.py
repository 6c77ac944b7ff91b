"""Each view of the board can be narrowed to the rows of one group."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.played_events import spec
from fakes.pressing import press
from fakes.views.board_rows import board_data, seen
from fakes.views.board_screen import SIZE, Searching, on_board, three
from fakes.views.lens_search import Search, a_pass, crawl, found, judged, lens_search
from painted import shows

from rundry.agent import FinderSpec, ItemDuplicate, ItemFailed, Journal, LoopKind, ViewState, reduce_all
from rundry.agent.search.items.frontier import Frontier
from rundry.agent.search.items.item_state import Candidate
from rundry.tui.board.board_layout import lay_out
from rundry.tui.board.board_lists import ItemLists, listing_of
from rundry.tui.board.board_view import BoardView, Listing
from rundry.tui.board.narrowing import RowFilter, narrow, next_group


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    made = Journal.create(tmp_path / "r.db", spec(loop=LoopKind.UNTIL_DRY, finder=FinderSpec()))
    yield made
    made.close()


class Listed(Listing):
    def __init__(self, groups: list[str], looked: int = 5_000) -> None:
        super().__init__(len(groups))
        self._groups, self.looked = groups, looked

    def key(self, index: int) -> str:
        return f"{index}"

    def group(self, index: int) -> str:
        return self._groups[index]


async def test_the_findings_of_one_verdict_are_counted_of_all_and_esc_shows_all_before_it_leaves_the_board():
    stage = three()
    stage.play(*judged("f1", "stands"))
    async with stage.app.run_test(size=SIZE) as pilot:
        await on_board(pilot, stage)
        await press(pilot, "f")
        text = await shows(pilot, "only confirmed  1 of 3")
        assert "finding 1" in text and "finding 0" not in text
        await press(pilot, "enter")
        await shows(pilot, "esc back")
        await press(pilot, "escape")
        await shows(pilot, "only confirmed  1 of 3")
        await press(pilot, "escape")
        assert "finding 0" in await shows(pilot, "finding 2")
        assert "only" not in stage.text() and stage.board.has_focus
        await press(pilot, "escape")
        assert stage.screen.message.box.has_focus


async def test_each_press_shows_the_next_verdict_and_after_the_last_one_all():
    stage = three()
    stage.play(*judged("f1", "stands"))
    async with stage.app.run_test(size=SIZE) as pilot:
        await on_board(pilot, stage)
        for words in ("only confirmed  1 of 3", "only judging  2 of 3", "only refuted  0 of 3"):
            await press(pilot, "f")
            await shows(pilot, words)
        assert "no row is refuted now: f shows others" in stage.text()
        await press(pilot, "f")
        assert "only" not in stage.text() and "finding 0" in stage.text()


async def test_the_lenses_the_failed_items_and_the_duplicates_are_filtered_too_and_each_view_keeps_its_filter():
    stage = Searching(lens_search(), found("f0", "finding 0"))
    stage.put(a_pass(stage.script, 1, 1, 0))  # type: ignore[arg-type]
    stage.play(
        ItemFailed(key="file:/a", error="timed out", attempts=4, final=True),
        ItemFailed(key="file:/b", error="no such file", attempts=4, final=True),
        ItemFailed(key="file:/c", error="timed out", attempts=4, final=True),
        ItemDuplicate(key="file:/a", source="taint"),
        ItemDuplicate(key="file:/b", source="person"),
    )
    async with stage.app.run_test(size=SIZE) as pilot:
        await on_board(pilot, stage)
        await press(pilot, "4", "f")
        text = await shows(pilot, "only timed out  2 of 3")
        assert "no such file" not in text
        await press(pilot, "5", "f", "f")
        text = await shows(pilot, " 1 of 2")
        await press(pilot, "2", "f")
        await shows(pilot, "of ")
        await press(pilot, "4")
        await shows(pilot, "only timed out  2 of 3")
        await press(pilot, "escape")
        await shows(pilot, "no such file")
        assert stage.board.has_focus
        await press(pilot, "5")
        await shows(pilot, " 1 of 2")


async def test_the_footer_offers_the_filter_in_each_view_of_a_search():
    stage = three()
    async with stage.app.run_test(size=(160, 40)) as pilot:
        await on_board(pilot, stage)
        for key in ("1", "2", "3", "4", "5"):
            await press(pilot, key)
            await shows(pilot, "f filter")


def test_the_items_of_the_queue_are_filtered_by_where_they_come_from(journal: Journal):
    frontier = Frontier(journal)
    frontier.surface([Candidate("value", f"item {n}") for n in range(6)], "seed", Path("/"))
    frontier.surface([Candidate("value", "mine")], "person", Path("/"))
    state = ViewState()
    reduce_all(state, Search().stamp(crawl()))
    view, item_lists = BoardView(tab="queue"), ItemLists(journal)
    item_lists.renew(set())
    whole = listing_of(board_data(state), view, item_lists)
    group = next_group(whole, "")
    assert group == "seeds" and next_group(whole, group) == "by you" and next_group(whole, "by you") == ""
    rows = RowFilter()
    shown_rows = rows.apply(whole, "queue", "by you", item_lists.version, "none")
    assert rows.found is not None and rows.found.words == "1 of 7"
    assert (shown_rows.count, shown_rows.key(0), shown_rows.find("mine")) == (1, "mine", 0)
    frontier.surface([Candidate("value", "mine too")], "person", Path("/"))
    again = listing_of(board_data(state), view, item_lists)
    assert rows.apply(again, "queue", "by you", item_lists.version, "").count == 1, "not read again yet"
    item_lists.renew(set())
    assert rows.apply(again, "queue", "by you", item_lists.version, "").count == 2


def test_a_list_that_is_too_long_to_read_says_how_much_of_it_was_looked_at():
    found = narrow(Listed(["a", "b"] * 50, looked=10), "b")
    assert (found.words, list(found.keys)) == ("5 of the first 10", ["1", "3", "5", "7", "9"])


def test_a_filter_whose_group_is_gone_leads_back_to_all_rows():
    assert next_group(Listed(["a", "b"]), "c") == ""
    assert next_group(Listed([]), "") == ""


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_every_view_stays_named_next_to_the_filter_at_each_width(width: int):
    script = Search()
    state = seen([*script.stamp(lens_search()), *a_pass(script, 1, 4, 0)])
    data, view = board_data(state), BoardView(tab="findings")
    view.narrow("judging")
    rows = RowFilter()
    listing = rows.apply(listing_of(data, view, None), "findings", "judging", None, "")
    laid = lay_out(data, view, listing, width, 24, rows.found)
    text = "\n".join("".join(part for part, _ in row) for row in laid.rows)
    (heading,) = [line for line in text.splitlines() if "findings" in line]
    assert all(tab in heading for tab in ("lenses", "queue", "failed", "duplicates")), heading
    assert "4 of 4" in heading


async def test_a_text_narrows_the_rows_while_it_is_typed_enter_keeps_it_and_esc_clears_it():
    stage = Searching(lens_search(), found("f1", "raw SQL in orders"), found("f2", "open door", evidence="b.py:7"))
    async with stage.app.run_test(size=SIZE) as pilot:
        await on_board(pilot, stage)
        await press(pilot, "slash", *"sql")
        text = await shows(pilot, "/sql  1 of 2")
        assert "raw SQL" in text and "open door" not in text
        await press(pilot, "enter")
        assert stage.board.has_focus and "/sql  1 of 2" in stage.text()
        await press(pilot, "slash", *" none")
        await shows(pilot, 'no row contains "sql none"')
        await press(pilot, "escape")
        await shows(pilot, "open door")
        assert stage.board.has_focus and "/sql" not in stage.text()
        await press(pilot, "slash", *"b.py 7", "enter", "escape")
        await shows(pilot, "raw SQL")
        assert stage.board.has_focus


async def test_a_text_and_a_group_narrow_a_view_together_and_each_view_has_its_own():
    stage = three()
    stage.play(*judged("f1", "stands"))
    async with stage.app.run_test(size=SIZE) as pilot:
        await on_board(pilot, stage)
        await press(pilot, "f", "f", "slash", *"finding 2", "enter")
        await shows(pilot, "only judging /finding 2  1 of 3")
        await press(pilot, "tab", "slash", *"auth", "enter")
        await shows(pilot, "/auth  1 of 3")
        await press(pilot, "1")
        await shows(pilot, "only judging /finding 2  1 of 3")
        await press(pilot, "escape")
        await shows(pilot, "finding 0")


def test_a_text_is_searched_in_the_items_of_the_queue(journal: Journal):
    frontier = Frontier(journal)
    frontier.surface([Candidate("value", f"Item {n}") for n in range(12)], "seed", Path("/"))
    state = ViewState()
    reduce_all(state, Search().stamp(crawl()))
    item_lists = ItemLists(journal)
    item_lists.renew(set())
    found = narrow(listing_of(board_data(state), BoardView(tab="queue"), item_lists), "", "item 1")
    assert (found.words, list(found.keys)) == ("3 of 12", ["Item 1", "Item 10", "Item 11"])
