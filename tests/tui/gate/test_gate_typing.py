"""Keys typed near the gate: which of them decide and which are a message."""

from __future__ import annotations

import pytest
from fakes.played_events import proposal, started
from fakes.pressing import press
from fakes.screens import Stage
from fakes.views.open_gate import SIZE, decisions, opened
from painted import until
from textual import events

from rundry.tui.gate.gate_arming import GRACE, Arming
from rundry.tui.keys.letters import TYPING


async def test_a_message_that_is_being_typed_keeps_the_focus_and_its_keys():
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        stage.play(started())
        await press(pilot, "h", "i")
        await opened(pilot, stage, proposal())
        await pilot.pause(GRACE + 0.1)
        await press(pilot, "y")
        assert stage.screen.message.box.text == "hiy"
        assert decisions(stage) == []
        await press(pilot, "f2", "n")
        assert decisions(stage) == [("p1", "reject", None)]


async def test_after_typing_the_first_proposal_waits_for_a_still_moment_and_the_next_does_not():
    arming = Arming()
    arming.keyed(10.0, empty=True)
    arming.paint("p1", "d", 10.2)
    assert not arming.may_focus(10.2 + GRACE - 0.01)
    assert arming.may_focus(10.2 + GRACE + 0.01)
    arming.focused()
    arming.blank()
    assert not arming.may_focus(20.0), "nothing is painted"
    arming.paint("p2", "d", 20.0)
    assert arming.may_focus(20.0)


async def test_a_letter_alone_decides_though_no_key_follows():
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        await opened(pilot, stage, started(), proposal())
        await pilot.press("n")
        await until(pilot, lambda: decisions(stage) == [("p1", "reject", None)])
        assert stage.screen.message.box.text == ""


async def test_enter_right_after_a_letter_is_part_of_the_decision():
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        await opened(pilot, stage, started(), proposal())
        await pilot.press("y", "enter")
        await until(pilot, lambda: decisions(stage) == [("p1", "approve", None)])


async def test_escape_right_after_a_letter_takes_it_back():
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        await opened(pilot, stage, started(), proposal())
        await pilot.press("y", "escape")
        await pilot.pause(TYPING * 2)
        assert decisions(stage) == []
        assert stage.screen.gate.display


async def test_a_letter_decides_nothing_where_the_proposal_was_changed_in_the_meantime():
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        await opened(pilot, stage, started(), proposal())
        await pilot.press("y")
        stage.screen.gate.arming.blank()
        await pilot.pause(TYPING * 2)
        assert decisions(stage) == []


async def test_escape_closes_the_question_about_always_and_decides_nothing():
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        await opened(pilot, stage, started(), proposal())
        await press(pilot, "A", "escape")
        assert decisions(stage) == []
        assert "always would write" not in stage.text()
        await press(pilot, "A")
        assert "always would write" in stage.text(), "the rule is shown again before it is written"
        assert decisions(stage) == []
        await press(pilot, "escape", "escape")
        assert decisions(stage) == []


@pytest.mark.parametrize("words", ["hey", "/undo", "look why An y"])
async def test_a_word_typed_in_one_go_at_the_gate_is_a_message_and_decides_nothing(words: str):
    stage = Stage()
    async with stage.app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, stage, started(), proposal())
        for letter in words:
            stage.app.post_message(events.Key("space" if letter == " " else letter, letter))
        await pilot.pause()
        await pilot.pause()
        assert decisions(stage) == []
        assert stage.screen.message.box.text == words
        assert stage.screen.message.box.has_focus


async def test_any_other_letter_begins_a_message():
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        await opened(pilot, stage, started(), proposal())
        await pilot.press("w", "h")
        assert decisions(stage) == []
        assert stage.screen.message.box.text.endswith("h")


async def test_a_key_pressed_before_the_proposal_was_there_is_not_part_of_the_next_message():
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        stage.play(started())
        await press(pilot, "y")
        await opened(pilot, stage, proposal())
        await until(pilot, lambda: stage.screen.gate.has_focus)
        assert stage.screen.message.box.text == "y"
        await press(pilot, "space")
        await until(pilot, lambda: stage.screen.message.box.text == "")
        assert decisions(stage) == []
