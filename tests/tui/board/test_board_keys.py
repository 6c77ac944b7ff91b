"""What each key of the board puts into the inbox, and what never does."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fakes.screens import Stage
from fakes.views.searched import Search, a_pass, crawl, found, judged, lens_search
from painted import shows, until
from textual.pilot import Pilot

from rundry.agent import (
    AddItem,
    AddLens,
    CommandRefused,
    ItemFailed,
    Judge,
    Merge,
    Pause,
    Paused,
    Reason,
    RunEnded,
    Stamped,
)
from rundry.tui.actions import ACTIONS
from rundry.tui.board.arming import GRACE, SEEN, Arming
from rundry.tui.board.board import Board

SIZE = (120, 32)


class Searching(Stage):
    """A stage with a search on it."""

    def __init__(self, *events: object) -> None:
        super().__init__()
        self.script = Search()
        self.play(*events)

    def put(self, stamped: Sequence[Stamped]) -> None:
        self.link.play(stamped)

    @property
    def board(self) -> Board:
        return self.screen.search.board

    @property
    def box(self) -> str:
        return self.screen.message.box.text


def three() -> Searching:
    return Searching(lens_search(), *(found(f"f{n}", f"finding {n}", evidence="a.py:1") for n in range(3)))


async def on_board(pilot: Pilot, stage: Searching) -> None:
    """The board has the focus, and its keys count."""
    await until(pilot, lambda: stage.board.picked is not None)
    await pilot.press("f2")
    await until(pilot, lambda: stage.board.has_focus)
    await pilot.pause(GRACE + 0.05)


# where keys go


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
        await pilot.press("f2", "m", "c", "2")
        await until(pilot, lambda: stage.board.view.tab == "lenses")
        assert (stage.box, stage.board.marked, stage.link.commands) == ("", None, [])


async def test_a_letter_that_is_no_key_of_the_board_goes_to_the_message_and_takes_the_focus_along():
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
        await pilot.press("c")
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


# judging


async def test_confirm_refute_and_evidence_name_the_finding_and_go_out_with_the_reason():
    stage = three()
    async with stage.app.run_test(size=SIZE) as pilot:
        await on_board(pilot, stage)
        await pilot.press("c", "enter")
        await pilot.press("up", "x")
        await shows(pilot, "refute  finding 1")
        await pilot.press(*"no way", "enter")
        await pilot.press("up", "v", *"which line", "enter")
        await until(pilot, lambda: len(stage.link.commands) == 3)
        assert stage.link.commands == [
            Judge(key="f2", verdict="confirmed", reason=""),
            Judge(key="f1", verdict="refuted", reason="no way"),
            Judge(key="f0", verdict="evidence", reason="which line"),
        ]
        assert stage.board.has_focus


async def test_esc_leaves_a_verdict_unsaid():
    stage = three()
    async with stage.app.run_test(size=SIZE) as pilot:
        await on_board(pilot, stage)
        await pilot.press("x", *"not sure", "escape")
        await until(pilot, lambda: stage.board.has_focus)
        assert stage.link.commands == []


async def test_a_verdict_is_dropped_once_the_person_goes_elsewhere_and_none_is_asked_for_any_longer():
    stage = three()
    async with stage.app.run_test(size=SIZE) as pilot:
        await on_board(pilot, stage)
        await pilot.press("x", *"not")
        await shows(pilot, "refute  finding")
        await pilot.click(stage.screen.message.box)
        await until(pilot, lambda: "refute  finding" not in stage.text())
        await pilot.press(*"hello")
        assert stage.box == "hello" and stage.link.commands == []


async def test_a_duplicate_is_marked_and_merged_into_the_other():
    stage = three()
    async with stage.app.run_test(size=SIZE) as pilot:
        await on_board(pilot, stage)
        await pilot.press("m")
        await shows(pilot, "merge?")
        await pilot.press("up", "up", "m")
        await until(pilot, lambda: stage.link.commands)
        assert stage.link.commands == [Merge(key="f2", into="f0")]
        await pilot.press("m", "escape")
        assert stage.board.has_focus and stage.board.marked is None
        await pilot.press("m", "m")
        assert len(stage.link.commands) == 1, "a finding is not merged into itself"


async def test_what_the_runner_refuses_is_said():
    stage = three()
    async with stage.app.run_test(size=SIZE) as pilot:
        await on_board(pilot, stage)
        await pilot.press("v", "enter")
        await until(pilot, lambda: stage.link.commands)
        stage.play(CommandRefused(command_id=1, command="judge", why="there is no model in this run"))
        await shows(pilot, "refused: there is no model in this run")


# items and lenses


async def test_an_item_and_a_lens_are_typed_as_commands_that_a_key_begins():
    stage = three()
    async with stage.app.run_test(size=SIZE) as pilot:
        await on_board(pilot, stage)
        await pilot.press("a")
        await until(pilot, lambda: stage.box == "/item file ")
        await pilot.press(*"a.py", "enter")
        await until(pilot, lambda: stage.link.commands)
        stage.screen.prompt.fill("/lens cookies follow each cookie")
        await pilot.press("enter")
        await until(pilot, lambda: len(stage.link.commands) == 2)
        assert stage.link.commands == [
            AddItem(kind="file", value="a.py"),
            AddLens(name="cookies", prompt="follow each cookie"),
        ]


async def test_a_command_without_its_words_says_what_it_takes_and_keeps_what_was_typed():
    stage = three()
    async with stage.app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: stage.board.picked is not None)
        stage.screen.prompt.fill("/lens cookies")
        await pilot.press("enter")
        await shows(pilot, "/lens NAME PROMPT")
        assert (stage.box, stage.link.commands) == ("/lens cookies", [])


async def test_findings_of_a_search_that_is_over_can_be_judged_and_nothing_else_can_be_asked_of_it():
    stage = three()
    stage.play(RunEnded(reason=Reason.DRY, detail="nothing new; 0 confirmed", complete=True, exit_code=0))
    stage.link.state = "ended"
    async with stage.app.run_test(size=SIZE) as pilot:
        await on_board(pilot, stage)
        await pilot.press("a")
        await shows(pilot, "this search has ended")
        assert stage.link.commands == []
        await pilot.press("c")
        await shows(pilot, "confirm  finding")
        await pilot.press("enter")
        await until(pilot, lambda: bool(stage.link.commands))
        assert [type(command) for command in stage.link.commands] == [Judge]


async def test_a_run_that_is_no_search_has_no_board():
    from fakes.played import started

    stage = Stage()
    stage.play(started())
    async with stage.app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        assert not stage.screen.search.display
        await pilot.press("ctrl+l")
        await shows(pilot, "this run is not a search")


# views


async def test_numbers_and_tab_switch_the_views_and_each_keeps_its_row():
    stage = three()
    stage.play(ItemFailed(key="file:/a", error="timed out", attempts=4, final=True))
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await on_board(pilot, stage)
        await pilot.press("home", "2")
        assert "waits its turn" in stage.text()
        await pilot.press("4")
        assert "timed out" in stage.text()
        await pilot.press("tab", "tab")
        assert stage.board.view.tab == "findings"
        assert stage.board.picked == "f0"


async def test_the_findings_can_be_narrowed_to_one_verdict():
    stage = three()
    stage.play(*judged("f1", "stands"))
    async with stage.app.run_test(size=SIZE) as pilot:
        await on_board(pilot, stage)
        await pilot.press("f")
        assert "confirmed only" in stage.text()
        assert "finding 1" in stage.text() and "finding 0" not in stage.text()
        await pilot.press("f", "f", "f")
        assert "finding 0" in stage.text()


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
        await shows(pilot, "c confirm   x refute   v evidence   m merge")


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
        y, named = next((n, hit) for n, row in enumerate(rows) if (hit := re.search(r"finding (4\d)", row)))
        await pilot.click(offset=(named.start(), y))
        assert stage.board.picked == f"f{named[1]}"
        assert stage.link.commands == []


async def test_pause_works_from_the_board_and_is_said():
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
