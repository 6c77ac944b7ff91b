"""The plot, the progress of items, coverage and the estimate: numbers on the board are measured or not shown."""

from __future__ import annotations

import pytest
from fakes.played_events import started
from fakes.views.board_rows import board_data, line, seen, shown
from fakes.views.lens_search import Search, a_pass, crawl, found, lens_search

from rundry.agent import (
    FinderSpec,
    ItemQueued,
    LoopKind,
    Seed,
    ViewState,
    WorkerSpec,
    WorkFinished,
    WorkStarted,
    reduce_all,
)
from rundry.tui.board.board_frame import percent
from rundry.tui.board.board_view import BoardView
from rundry.tui.board.discovery_plot import plot


def items(total: int, done: int, *, new: bool = False, is_crawl: bool = False) -> ViewState:
    """Items of which some were worked, one a second."""
    seeds = [Seed(kind="value", value=f"v{n}") for n in range(total)]
    spec = FinderSpec(seeds=seeds, worker=WorkerSpec(command=["w"]), sceptics=0)
    begun = crawl() if is_crawl else started("work them", loop=LoopKind.UNTIL_DRY, model="none", finder=spec)
    script = Search()
    stamped = script.stamp(begun)
    for n in range(total):
        reason = "new" if new and n else "seed"
        stamped += script.stamp(ItemQueued(key=f"v{n}", kind="value", value=f"v{n}", source="seed", reason=reason))
    for n in range(done):
        script.at += 1
        stamped += script.of(f"item:v{n}", WorkStarted(kind="item", about=f"v{n}"))
        stamped += script.of(f"item:v{n}", WorkFinished(kind="item", about=f"v{n}", ok=True))
    return seen(stamped)


def test_an_item_whose_work_was_interrupted_is_queued_again_and_neither_done_nor_failed():
    script, state = Search(), ViewState()
    spec = FinderSpec(seeds=[Seed(kind="value", value="a")], worker=WorkerSpec(command=["w"]), sceptics=0)
    begun = started("work them", loop=LoopKind.UNTIL_DRY, model="none", finder=spec)
    queued = ItemQueued(key="a", kind="value", value="a", source="seed", reason="seed")
    counts = list[tuple[int, int, int, int]]()
    for stamped in (
        script.stamp(begun, queued),
        script.of("item:a", WorkStarted(kind="item", about="a")),
        script.of("item:a", WorkFinished(kind="item", about="a", ok=False, interrupted=True)),
    ):
        reduce_all(state, stamped)
        facts = state.finder
        assert facts is not None
        counts.append((facts.queued, facts.working, facts.done, facts.set_aside))
    assert counts == [(1, 0, 0, 0), (0, 1, 0, 0), (1, 0, 0, 0)]


def test_items_with_a_known_total_show_their_share_the_rate_and_the_remaining_time():
    whole = shown(board_data(items(200, 20), after=1.0), 120, 34)
    assert "20 of 200" in line(whole, "done ") and "10 %" in line(whole, "done ")
    assert "a minute" in line(whole, "rate ") or "a second" in line(whole, "rate ")
    assert "left" in line(whole, "rate ", "about ")


@pytest.mark.parametrize("state", [items(200, 20, new=True), items(30, 20, is_crawl=True)])
def test_without_a_known_total_there_is_no_share_and_no_remaining_time(state: ViewState):
    whole = shown(board_data(state, after=1.0), 120, 34)
    assert "the total is not known" in whole
    assert "left" not in whole and " %" not in whole


def test_a_rate_is_not_made_up_from_the_first_items():
    whole = shown(board_data(items(200, 1), after=1.0), 120, 34)
    assert "not known yet" in line(whole, "rate ")
    assert "left" not in whole


def test_the_plot_has_a_scale_and_both_ends_of_its_axis():
    drawn = plot([12, 6, 0, 3], 40, 4, "pass 1", "4")
    assert [tick for tick, _ in drawn.rows] == ["12 ┤", "   │", " 6 ┤", "   │"]
    assert drawn.axis.startswith(" 0 └pass 1─") and drawn.axis.endswith("4")
    assert all(len(bars) <= 36 for _, bars in drawn.rows)


def test_a_share_is_zero_or_a_hundred_percent_only_if_it_is_exactly_that():
    assert [percent(share) for share in (0.0, 0.001, 0.5, 0.999, 1.0)] == ["0 %", "<1 %", "50 %", "99 %", "100 %"]


def test_the_dry_test_and_the_missing_estimate_are_reported_in_words():
    script = Search()
    state = seen([*script.stamp(lens_search()), *a_pass(script, 1, 2, 0), *a_pass(script, 2, 0, 1)])
    whole = shown(board_data(state), 140, 34)
    assert "●○  1 of 2 passes in a row without a new key" in whole
    assert "no estimate" in line(whole, "unseen")


@pytest.mark.parametrize("size", [(60, 13), (80, 17), (120, 33), (200, 43)])
@pytest.mark.parametrize("count", [0, 3, 5_000])
def test_the_board_fits_with_no_finding_and_with_five_thousand(size: tuple[int, int], count: int):
    script = Search()
    reported = [found(f"f{n}", f"finding number {n}", evidence=f"src/a.py:{n + 1}") for n in range(count)]
    at = board_data(seen([*script.stamp(lens_search()), *script.stamp(*reported)]))
    rows = shown(at, *size, BoardView()).splitlines()
    assert len(rows) <= size[1] and max(map(len, rows)) <= size[0]
    wanted = f"finding number {count - 1}" if count else "nothing found yet"
    assert any(wanted in row for row in rows), "the newest one is in sight"
