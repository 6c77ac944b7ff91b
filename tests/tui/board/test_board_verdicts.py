"""Verdicts, items and lenses that are typed on the board."""

from __future__ import annotations

from fakes.pressing import press
from fakes.views.board_screen import SIZE, on_board, three
from painted import shows, until

from rundry.agent import (
    AddItem,
    AddLens,
    CommandRefused,
    Judge,
    Merge,
    Reason,
    RunEnded,
)


async def test_confirm_refute_and_evidence_name_the_finding_and_go_out_with_the_reason():
    stage = three()
    async with stage.app.run_test(size=SIZE) as pilot:
        await on_board(pilot, stage)
        await press(pilot, "c", "enter")
        await press(pilot, "up", "x")
        await shows(pilot, "refute  finding 1")
        await pilot.press(*"no way", "enter")
        await press(pilot, "up", "v")
        await pilot.press(*"which line", "enter")
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
        await press(pilot, "x")
        await pilot.press(*"not sure", "escape")
        await until(pilot, lambda: stage.board.has_focus)
        assert stage.link.commands == []


async def test_a_verdict_is_dropped_once_the_person_goes_elsewhere_and_none_is_asked_for_any_longer():
    stage = three()
    async with stage.app.run_test(size=SIZE) as pilot:
        await on_board(pilot, stage)
        await press(pilot, "x")
        await pilot.press(*"not")
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
        await press(pilot, "up", "up", "m")
        await until(pilot, lambda: stage.link.commands)
        assert stage.link.commands == [Merge(key="f2", into="f0")]
        await press(pilot, "m", "escape")
        assert stage.board.has_focus and stage.board.marked is None
        await press(pilot, "m", "m")
        assert len(stage.link.commands) == 1, "a finding is not merged into itself"


async def test_what_the_runner_refuses_is_reported():
    stage = three()
    async with stage.app.run_test(size=SIZE) as pilot:
        await on_board(pilot, stage)
        await press(pilot, "v", "enter")
        await until(pilot, lambda: stage.link.commands)
        stage.play(CommandRefused(command_id=1, command="judge", why="there is no model in this run"))
        await shows(pilot, "refused: there is no model in this run")


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
