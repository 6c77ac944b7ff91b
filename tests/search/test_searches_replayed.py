"""A replay of a search shows its board as it was: counts, lenses, findings and lists of one moment."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from fakes.in_process.headless_run import resume_run, spec_of
from fakes.models.model_by_role import NOTHING, ModelByRole, judge, report
from fakes.turns import call
from fakes.web.site import Site
from painted import painted, shows, until
from textual.pilot import Pilot

from rundry.agent import (
    Budget,
    FinderSpec,
    FindingReported,
    FrontierView,
    ItemState,
    Journal,
    LoopKind,
    ModelSpec,
    PassFinished,
    Recipe,
    Seed,
    Session,
    Stamped,
    ViewCheckpoints,
    ViewState,
    reduce_all,
)
from rundry.agent.state.view.view_checkpoints import MOST_CHECKPOINTS
from rundry.tui.app.app import RundryApp
from rundry.tui.app.main_screen import MainScreen
from rundry.tui.control.run_controller import RunController
from rundry.tui.pages.replay.player import Player
from rundry.tui.pages.replay.replay_page import ReplayScreen
from rundry.tui.pages.replay.replayed_board import PastItemLists
from rundry.tui.pages.replay.timeline import Timeline


@pytest.fixture
async def crawled(tmp_path: Path) -> Path:
    """A crawl in which pages fail, are tried again, are set aside, and which a limit ends before all are worked."""
    with Site(pages=40) as site:
        paths = ("/page/0", "/flaky/1", "/flaky/2", "/missing", "/links", "/moved/7")
        finder = FinderSpec(
            recipe=Recipe.CRAWL, seeds=[Seed(kind="url", value=site.url + path) for path in paths], sceptics=0
        )
        spec = spec_of(
            None,
            tmp_path,
            task="crawl",
            loop=LoopKind.UNTIL_DRY,
            model=ModelSpec(name="none"),
            budget=Budget(steps=30),
            finder=finder,
        )
        path = tmp_path / "crawl.db"
        Journal.create(path, spec).close()
        await resume_run(path)
    return path


@pytest.fixture
async def looked(search: Callable[..., Any]) -> Path:
    """A search by two lenses with a judged finding in the first pass, one in the second, and a critic's last word."""
    model = ModelByRole(
        {"one": [report("x is wrong"), report("y is wrong"), NOTHING], "two": [NOTHING]},
        sceptic=lambda key, nth: judge("stands" if key == "title:x is wrong" else "refuted", "checked"),
        critic=[call("propose", reason="nothing is missing")],
    )
    run = search(model, "one", "two", critic=True)
    await run.run()
    return run.path


def told(state: ViewState) -> dict[str, Any]:
    return {each.name: getattr(state, each.name) for each in fields(state) if each.name != "changed_from"}


def folded(journal: Journal, seq: int) -> ViewState:
    state = ViewState()
    reduce_all(state, journal.read(0, seq) if seq else [])
    return state


def first(journal: Journal, kind: type, nth: int = 1) -> Stamped:
    found = [each for each in journal.read(0, 100_000) if isinstance(each.event, kind)]
    return found[nth - 1]


async def replaying(pilot: Pilot[Any]) -> ReplayScreen:
    """The replay, at its start and not playing."""
    await until(pilot, lambda: "dry" in painted(pilot.app) or "budget" in painted(pilot.app))
    await pilot.press("f11")
    await until(pilot, lambda: isinstance(pilot.app.screen, ReplayScreen) and pilot.app.screen.is_mounted)
    screen = pilot.app.screen
    assert isinstance(screen, ReplayScreen)
    screen.player.playing = False
    await pilot.press("home")
    return screen


def check_moments(path: Path) -> None:
    journal = Journal.open(path)
    timeline, pick = Timeline(journal, every=16), random.Random(4)
    timeline.go_to(timeline.last)
    for seq in [0, 1, timeline.last, *(pick.randrange(timeline.last) for _ in range(40))]:
        assert told(timeline.go_to(seq)) == told(folded(journal, seq)), seq
    journal.close()


async def test_any_moment_of_a_crawl_is_the_fold_up_to_there_however_one_came_there(crawled: Path):
    check_moments(crawled)


async def test_any_moment_of_a_search_by_lenses_is_the_fold_up_to_there(looked: Path):
    check_moments(looked)


async def test_the_lists_of_any_moment_are_as_long_as_its_counts_say(crawled: Path):
    journal = Journal.open(crawled)
    timeline = Timeline(journal)
    timeline.go_to(timeline.last)
    item_lists, waited, aside = PastItemLists(journal, timeline.items), 0, 0
    for seq in range(1, timeline.last + 1):
        facts = folded(journal, seq).finder if seq % 7 == 0 or seq == timeline.last else None
        item_lists.move_to(seq)
        ready, waiting, set_aside = item_lists.counts()
        waited, aside = max(waited, waiting), max(aside, set_aside)
        if facts is not None:
            assert (ready + waiting, set_aside) == (facts.queued, facts.set_aside), seq
    assert waited and aside, "it had some of each"
    journal.close()


async def test_at_the_end_the_lists_are_those_of_the_frontier(crawled: Path):
    journal = Journal.open(crawled)
    timeline, view = Timeline(journal), FrontierView(journal)
    timeline.go_to(timeline.last)
    item_lists = PastItemLists(journal, timeline.items)
    item_lists.move_to(timeline.last)
    ready, waiting, aside = item_lists.counts()
    rows = [item_lists.queue[n] for n in range(ready)] + [item_lists.waiting[n] for n in range(waiting)]
    queued = [*view.page(ItemState.QUEUED), *view.page(ItemState.WAITING)]
    assert ready, "the limit left some"
    assert {row and (row.key, row.value, row.source, row.due) for row in rows} == {
        (row.key, row.value, row.source, row.due) for row in queued
    }
    failed = [item_lists.set_aside[n] for n in range(aside)]
    assert {row and (row.value, row.error, row.attempts) for row in failed} == {
        (row.value, row.error, row.attempts) for row in view.page(ItemState.SET_ASIDE)
    }
    journal.close()


async def test_a_duplicate_of_later_is_not_listed_yet(crawled: Path):
    journal = Journal.open(crawled)
    timeline = Timeline(journal)
    item_lists = PastItemLists(journal, timeline.items)
    for seq in (timeline.last // 3, timeline.last):
        facts = timeline.go_to(seq).finder
        assert facts is not None
        item_lists.move_to(seq)
        item_lists.counts()
        count = facts.duplicates
        assert count and item_lists.duplicates[count - 1] is not None
        assert item_lists.duplicates[count] is None
    journal.close()


async def test_a_jump_back_in_a_search_folds_a_part_of_it_only(crawled: Path):
    journal = Journal.open(crawled)
    timeline = Timeline(journal, every=16)
    while not timeline.approach(timeline.last, 0.0):
        assert 0 < timeline.position < timeline.last, "a long way is gone in slices"
    for seq in (timeline.last - 3, timeline.last // 2, 40):
        assert timeline.approach(seq, 0.0) or timeline.approach(seq, 0.0), "two batches are enough"
    journal.close()


async def test_a_long_film_keeps_few_states_and_still_finds_each_moment(crawled: Path):
    journal = Journal.open(crawled)
    checkpoints, state, kept = ViewCheckpoints(1), ViewState(), set[int]()
    for stamped in journal.read(0, 100_000):
        reduce_all(state, [stamped])
        checkpoints.add(state)
        kept.add(checkpoints.newest_until(stamped.seq))
    assert len(kept) > MOST_CHECKPOINTS, "some were dropped again"
    assert len({checkpoints.newest_until(seq) for seq in range(1, state.last_seq + 1)} - {0}) <= MOST_CHECKPOINTS
    timeline = Timeline(journal, every=1)
    timeline.go_to(timeline.last)
    for seq in (1, timeline.last // 2, timeline.last - 1):
        assert told(timeline.go_to(seq)) == told(folded(journal, seq))
    journal.close()


async def test_the_replay_shows_the_board_of_the_moment_and_leaving_shows_the_end_again(looked: Path):
    app = RundryApp(RunController(Session.attach(looked)))
    async with app.run_test(size=(120, 40)) as pilot:
        replay = await replaying(pilot)
        live = app.screen_stack[-2]
        journal = replay.player.timeline.journal
        replay.player.go_to(first(journal, FindingReported).seq)
        await shows(pilot, "x is wrong")
        await until(pilot, lambda: "1 judging" in painted(app) and "pass 1/" in painted(app))
        assert "y is wrong" not in painted(app) and "nothing is missing" not in painted(app)
        assert replay.board.has_focus
        replay.player.go_to(first(journal, PassFinished).seq)
        await shows(pilot, "✓ 1/1")
        await pilot.press("right", "right")
        await shows(pilot, "pass 3/")
        assert "✗ 0/1" in painted(app) and "y is wrong" in painted(app)
        await pilot.press("end")
        await shows(pilot, "✓ dry")
        await pilot.press("enter")
        await shows(pilot, "esc back")
        await pilot.press("escape", "home")
        await shows(pilot, "event 0/")
        assert isinstance(app.screen, ReplayScreen), "the first escape left what was open"
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is live)
        assert isinstance(live, MainScreen)
        await shows(pilot, "✓ dry")
        assert "x is wrong" in painted(app) and "y is wrong" in painted(app)


async def test_the_queue_of_the_moment_is_listed_and_digits_are_for_the_speed(crawled: Path):
    app = RundryApp(RunController(Session.attach(crawled)))
    async with app.run_test(size=(80, 24)) as pilot:
        replay = await replaying(pilot)
        journal = replay.player.timeline.journal
        replay.player.go_to(first(journal, PassFinished).seq)
        replay.refresh_view()
        await pilot.press("tab", "tab")
        await until(pilot, lambda: replay.board.view.tab == "queue")
        facts = replay.player.timeline.state.finder
        assert facts is not None and facts.queued
        assert sum("/page/" in line for line in painted(app).splitlines()[5:]) >= min(facts.queued, 5)
        assert "3 queue" not in painted(app)
        await pilot.press("2")
        assert (replay.player.speed, replay.board.view.tab) == (4, "queue")
        await until(pilot, lambda: replay.player.timeline.position > first(journal, PassFinished).seq)


async def test_ctrl_l_turns_to_the_transcript_of_the_moment_and_back(looked: Path):
    app = RundryApp(RunController(Session.attach(looked)))
    async with app.run_test(size=(100, 30)) as pilot:
        replay = await replaying(pilot)
        await pilot.press("end", "ctrl+l")
        await until(pilot, lambda: replay.transcript.display and "confirmed x is wrong" in painted(app))
        assert not replay.board.display
        await pilot.press("ctrl+l")
        await until(pilot, lambda: "✓ dry" in painted(app) and replay.board.display)


def test_the_player_plays_as_fast_as_it_was_asked_to(tmp_path: Path):
    journal = Journal.create(tmp_path / "r.db", spec_of(None, tmp_path, task="t"))
    at = iter(range(10**9))
    journal.now = lambda: 1000.0 + next(at) / 1000
    with journal.transaction():
        for number in range(6_000):
            journal.append(PassFinished(number=number, new=0, dry_streak=0, dry_passes=2))
    player = Player(Timeline(journal), 64)
    player.advance(0.0)
    player.advance(0.05)
    while player.advance(0.0):
        assert player.timeline.position < player.timeline.last
    assert 3198 <= player.timeline.position <= 3202, "64 times 50 milliseconds, at an event a millisecond"
    journal.close()
