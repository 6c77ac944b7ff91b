"""Letters that are typed while another part than the message box has the focus."""

from __future__ import annotations

import pytest
from fakes.played_events import proposal, started
from fakes.pressing import press
from fakes.screens import Stage
from fakes.views.board_screen import on_board, three
from fakes.views.open_gate import SIZE, decisions, opened
from painted import shows, until
from textual import events

from rundry.agent import Interrupt, ProposalDecided, StepStarted, TextArrived
from rundry.tui.gate.gate_arming import GRACE
from rundry.tui.keys.letters import TYPING

RUN = (started(), StepStarted(number=1), TextArrived(text="Now the parser."))
WORDS = ["just look", "no, stop", "yes, you can", "open it", "Now keys", "why", "kill it", "2 more?", "hello"]


def type_in_one_go(stage: Stage, words: str) -> None:
    for letter in words:
        stage.app.post_message(events.Key("space" if letter == " " else letter, letter))


@pytest.mark.parametrize("words", WORDS)
async def test_words_typed_while_the_transcript_has_the_focus_go_whole_to_the_message(words: str):
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        stage.play(*RUN)
        await shows(pilot, "Now the parser.")
        await pilot.press("f10")
        await until(pilot, lambda: stage.screen.transcript.has_focus)
        type_in_one_go(stage, words)
        await until(pilot, lambda: stage.screen.message.box.text == words)
        assert stage.screen.message.box.has_focus
        assert stage.link.commands == []


@pytest.mark.parametrize(
    "words", ["can you", "verify it", "a lot", "just go", "Look here", "x-ray it", "get on", "2 more?"]
)
async def test_words_typed_while_the_board_has_the_focus_go_whole_to_the_message(words: str):
    stage = three()
    async with stage.app.run_test(size=(120, 32)) as pilot:
        await on_board(pilot, stage)
        type_in_one_go(stage, words)
        await until(pilot, lambda: stage.box == words)
        assert stage.screen.message.box.has_focus
        assert stage.link.commands == [] and "confirm  finding" not in stage.text()


async def test_a_letter_that_is_pressed_twice_in_a_row_is_a_command_and_no_word():
    stage = three()
    async with stage.app.run_test(size=(120, 32)) as pilot:
        await on_board(pilot, stage)
        type_in_one_go(stage, "cc")
        await shows(pilot, "confirm  finding")
        assert stage.box == ""


@pytest.mark.parametrize("words", ["should I", "full", "order by", "who", "mine is", "remove it", "edit that", "Every"])
async def test_words_that_begin_with_any_key_of_the_gate_go_whole_to_the_message(words: str):
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        await opened(pilot, stage, started(), proposal())
        type_in_one_go(stage, words)
        await until(pilot, lambda: stage.screen.message.box.text == words)
        assert decisions(stage) == []


async def test_enter_at_the_end_of_a_message_typed_in_one_go_at_the_gate_sends_it():
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        await opened(pilot, stage, started(), proposal())
        type_in_one_go(stage, "no, use a loop")
        stage.app.post_message(events.Key("enter", "\r"))
        await until(pilot, lambda: stage.link.commands)
        assert stage.screen.message.box.text == "" and decisions(stage) == []


@pytest.mark.parametrize("keys", ["y", "yy", "n", " "])
async def test_a_key_of_the_gate_pressed_between_two_gates_neither_decides_nor_keeps_the_focus(keys: str):
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        await opened(pilot, stage, started(), proposal(1))
        await press(pilot, "y")
        stage.play(ProposalDecided(proposal_id="p1", by="person", decision="approve"))
        await until(pilot, lambda: not stage.screen.gate.display)
        await pilot.pause(TYPING)
        await pilot.press(*("space" if key == " " else key for key in keys))
        assert stage.screen.message.box.text == keys
        await opened(pilot, stage, proposal(2))
        await until(pilot, lambda: stage.screen.gate.has_focus, seconds=15)
        assert [name for name, _, _ in decisions(stage)] == ["p1"]
        await press(pilot, "n")
        assert decisions(stage)[1:] == [("p2", "reject", None)]
        assert stage.screen.message.box.text == ""


async def test_a_word_whose_first_letter_came_before_the_gate_is_continued_in_the_message():
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        stage.play(*RUN)
        await shows(pilot, "Now the parser.")
        await pilot.press("y")
        await opened(pilot, stage, proposal())
        await pilot.pause(GRACE + 0.1)
        await until(pilot, lambda: stage.screen.gate.has_focus, seconds=15)
        type_in_one_go(stage, "es, but")
        await until(pilot, lambda: stage.screen.message.box.text == "yes, but")
        assert decisions(stage) == []


async def test_a_letter_of_the_transcript_is_carried_out_if_no_word_follows():
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        stage.play(*RUN)
        await shows(pilot, "Now the parser.")
        await pilot.press("f10")
        await shows(pilot, "esc message")
        await press(pilot, "k", "y", "o", "j", "n")
        assert stage.screen.message.box.text == ""
        assert stage.screen.transcript.has_focus
        assert "Now the parser." in stage.app.clipboard


async def test_a_paste_into_the_transcript_goes_to_the_message():
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        stage.play(*RUN)
        await shows(pilot, "Now the parser.")
        await pilot.press("f10")
        stage.app.post_message(events.Paste("one\ntwo"))
        await until(pilot, lambda: stage.screen.message.box.text == "one\ntwo")
        assert Interrupt() not in stage.link.commands
