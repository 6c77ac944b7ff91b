"""What each key of the board puts into the inbox, and what never does."""

from __future__ import annotations

import re

from fakes.pressing import press
from fakes.screens import Stage
from fakes.views.board_screen import SIZE, Searching, on_board, three
from fakes.views.lens_search import a_pass, crawl, found, lens_search
from painted import shows, until

from rundry.agent import (
    ItemFailed,
    Pause,
    Paused,
)
from rundry.tui.board.board_arming import GRACE, SEEN, Arming
from rundry.tui.keys.lookup import ACTIONS


async def test_a_search_begins_with_its_board_and_the_focus_in_the_message_box():
    stage = three()
    async with stage.app.run_test(size=SIZE) as pilot:
        await shows(pilot, "finding 2")
        assert stage.screen.message.box.has_focus
        await pilot.press(*"check xvm")
        assert (stage.box, stage.link.commands) == ("check xvm", [])


async def test_letters_right_after_the_cursor_slid_to_the_board_are_the_messages():
    stage = three()
    async with stage.app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: stage.board.picked is not None)
        await pilot.press("down", "c", "h", "e", "c", "k")
        await until(pilot, lambda: stage.box == "check")
        assert stage.link.commands == []


async def test_nothing_is_judged_right_after_f2_and_no_letter_is_lost_to_the_message():
    stage = three()
    async with stage.app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: stage.board.picked is not None)
        await press(pilot, "f2", "m", "2")
        await until(pilot, lambda: stage.board.view.tab == "lenses")
        assert (stage.box, stage.board.marked, stage.link.commands) == ("", None, [])


async def test_a_letter_that_is_not_a_key_of_the_board_goes_to_the_message_and_takes_the_focus_along():
    stage = three()
    async with stage.app.run_test(size=SIZE) as pilot:
        await on_board(pilot, stage)
        await pilot.press("h", "e", "c")
        await until(pilot, lambda: stage.box == "hec")
        assert stage.link.commands == []


async def test_esc_leads_out_of_the_detail_then_back_to_the_message_and_interrupts_nothing():
    stage = three()
    async with stage.app.run_test(size=SIZE) as pilot:
        await on_board(pilot, stage)
        await pilot.press("enter")
        assert "esc back" in stage.text()
        await pilot.press("escape")
        assert "esc back" not in stage.text() and stage.board.has_focus
        await pilot.press("escape")
        await until(pilot, lambda: stage.screen.message.box.has_focus)
        assert stage.link.commands == []


def test_a_judgement_counts_only_for_a_row_that_stood_there_for_a_while():
    arming = Arming()
    arming.focused(10.0, sure=False)
    arming.shows("findings", "f1", 10.0, by_hand=True)
    assert arming.is_typing(10.0 + GRACE / 2)
    assert not arming.counts(10.0 + GRACE / 2)
    assert arming.counts(10.0 + GRACE)
    arming.shows("findings", "f2", 20.0, by_hand=False)  # a new finding took the row's place
    assert not arming.counts(20.0 + SEEN / 2)
    assert arming.counts(20.01 + SEEN)
    arming.shows("findings", "f3", 21.0, by_hand=True)
    assert arming.counts(21.0)


async def test_a_finding_that_comes_in_does_not_slide_under_the_key():
    stage = three()
    async with stage.app.run_test(size=SIZE) as pilot:
        await on_board(pilot, stage)
        await pilot.press("up", "down")  # at the end: it follows what comes
        stage.play(found("f9", "finding 9"))
        await until(pilot, lambda: stage.board.picked == "f9")
        await press(pilot, "c")
        assert "confirm  finding" not in stage.text()
        await pilot.press("up", "c")
        await shows(pilot, "confirm  finding 2")


async def test_a_picked_row_keeps_its_place_while_others_come():
    stage = three()
    async with stage.app.run_test(size=SIZE) as pilot:
        await on_board(pilot, stage)
        await pilot.press("home")
        stage.put(a_pass(stage.script, 1, 40, 0))  # type: ignore[arg-type]
        await stage.caught_up(pilot)
        assert stage.board.picked == "f0"


async def test_in_a_run_without_a_board_its_key_draws_the_screen_again_and_says_nothing():
    from fakes.played_events import started

    stage = Stage()
    stage.play(started())
    async with stage.app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        assert not stage.screen.search.display
        await pilot.press("ctrl+l")
        await pilot.pause()
        assert not stage.screen.search.display
        assert "search" not in stage.text()


async def test_numbers_and_tab_switch_the_views_and_each_keeps_its_row():
    stage = three()
    stage.play(ItemFailed(key="file:/a", error="timed out", attempts=4, final=True))
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await on_board(pilot, stage)
        await press(pilot, "home", "2")
        assert "waits its turn" in stage.text()
        await press(pilot, "4")
        assert "timed out" in stage.text()
        await press(pilot, "tab", "tab")
        assert stage.board.view.tab == "findings"
        assert stage.board.picked == "f0"


async def test_the_transcript_is_a_key_away_and_back():
    stage = three()
    async with stage.app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: stage.board.picked is not None)
        await pilot.press("ctrl+l")
        await until(pilot, lambda: stage.screen.transcript.display)
        assert not stage.screen.search.display
        await pilot.press("ctrl+l")
        await until(pilot, lambda: stage.screen.search.display)
        await pilot.press("f10")
        await until(pilot, lambda: stage.screen.transcript.has_focus)
        await pilot.press("f2")
        await until(pilot, lambda: stage.board.has_focus)


async def test_the_footer_names_the_keys_of_the_board_while_it_has_the_focus():
    stage = three()
    async with stage.app.run_test(size=SIZE) as pilot:
        await shows(pilot, "F2 board")
        await on_board(pilot, stage)
        await shows(pilot, "y confirm   x refute   m merge   b send back   o editor")


async def test_every_action_of_the_board_is_in_the_palette_of_a_search():
    stage = three()
    async with stage.app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: stage.board.picked is not None)
        labels = {command.title for command in stage.app.get_system_commands(stage.screen)}
        assert {action.label for action in ACTIONS if action.where == "board"} <= labels


async def test_a_click_picks_a_row_and_the_wheel_moves_on():
    stage = Searching(lens_search(), *(found(f"f{n}", f"finding {n}") for n in range(60)))
    async with stage.app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: stage.board.picked == "f59")
        rows = stage.text().splitlines()
        y, named = next((n, hit) for n, row in enumerate(rows) if (hit := re.search(r"finding (5\d)", row)))
        await pilot.click(offset=(named.start(), y))
        assert stage.board.picked == f"f{named[1]}"
        assert stage.link.commands == []


async def test_pause_works_from_the_board_and_is_reported():
    stage = three()
    async with stage.app.run_test(size=SIZE) as pilot:
        await on_board(pilot, stage)
        await pilot.press("f4")
        assert stage.link.commands == [Pause()]
        stage.play(Paused())
        await shows(pilot, "no new work starts until you press F4 to resume")


async def test_a_search_without_lenses_offers_no_lens_and_names_its_pages():
    stage = Searching(crawl())
    async with stage.app.run_test(size=SIZE) as pilot:
        await shows(pilot, "page")
        assert "tok" not in stage.text().splitlines()[1]
        await pilot.press("f2")
        await until(pilot, lambda: stage.board.has_focus)
        await pilot.pause(GRACE + 0.05)
        await pilot.press("a")
        await until(pilot, lambda: stage.box == "/item url ")
