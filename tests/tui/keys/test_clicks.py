"""Everything on the screen that names an action does it when it is clicked."""

from __future__ import annotations

from typing import Any

import pytest
from fakes.played_events import proposal, started
from fakes.screens import Stage
from fakes.views.board_screen import three
from fakes.views.gate_stage import GateStage
from fakes.views.open_gate import decisions, opened
from painted import shows, until
from textual.pilot import Pilot

from rundry.agent import Charged, Interrupt, Pause, Queued, Sleeping, StepStarted, TextArrived, Unqueue, Wake

SIZE = (120, 32)
RUN = (started(), StepStarted(number=1), Charged(tokens_in=1, tokens_out=1, usd=0.1), TextArrived(text="Now it."))


async def click(pilot: Pilot[Any], stage: Stage, text: str, *, after: str = "") -> None:
    """Click into the middle of this text on the screen, in a row that also holds `after`."""
    await until(pilot, lambda: any(text in row and after in row for row in stage.text().splitlines()))
    y, row = next((y, row) for y, row in enumerate(stage.text().splitlines()) if text in row and after in row)
    await pilot.click(offset=(row.index(text) + len(text) // 2, y))
    await pilot.pause()


@pytest.mark.parametrize(
    ("text", "box"),
    [("tok", "/limit tokens "), ("usd", "/limit usd "), ("step", "/limit steps "), ("10:00", "/limit time ")],
)
async def test_a_meter_begins_the_command_that_changes_its_limit(text: str, box: str):
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        stage.play(*RUN)
        await shows(pilot, "Now it.")
        await click(pilot, stage, text, after="tok")
        await until(pilot, lambda: stage.screen.message.box.text == box)


async def test_the_model_of_the_header_opens_the_picker_and_its_keys_can_be_clicked():
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        stage.play(*RUN)
        await shows(pilot, "Now it.")
        await click(pilot, stage, "qwen3:8b")
        await until(pilot, lambda: stage.app.screen is not stage.screen)
        await click(pilot, stage, "esc back")
        await until(pilot, lambda: stage.app.screen is stage.screen)


async def test_the_words_of_the_footer_and_of_the_message_row_do_what_they_say():
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        stage.play(*RUN)
        await shows(pilot, "Now it.")
        await click(pilot, stage, "F4 pause")
        await click(pilot, stage, "esc interrupt")
        await until(pilot, lambda: stage.link.commands == [Pause(), Interrupt()])
        stage.play(Queued(queued_id=7, text="also the docs"))
        await click(pilot, stage, "1 queued")
        await until(pilot, lambda: stage.link.commands[2:] == [Unqueue(queued_id=7)])
        await click(pilot, stage, "^s steer")
        await until(pilot, lambda: len(stage.link.commands) == 4)
        assert stage.screen.message.box.text == ""


async def test_a_sleeping_run_is_woken_by_a_click_on_wake():
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        stage.play(started(), Sleeping(seconds=100, asked=100, why="CI"))
        await click(pilot, stage, "F9 wake", after="of 1:40")
        await until(pilot, lambda: stage.link.commands == [Wake()])


@pytest.mark.parametrize(("text", "verdict"), [("y approve", "approve"), ("n reject", "reject")])
async def test_a_proposal_is_decided_by_a_click_on_the_word(text: str, verdict: str):
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        await opened(pilot, stage, started(), proposal())
        await click(pilot, stage, text)
        await until(pilot, lambda: decisions(stage) == [("p1", verdict, None)])


async def test_the_help_opens_by_a_click_in_the_keys_of_the_gate():
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        await opened(pilot, stage, started(), proposal())
        await click(pilot, stage, "? keys", after="approve")
        await until(pilot, lambda: stage.app.screen is not stage.screen)
        assert decisions(stage) == []


async def test_a_hunk_is_skipped_by_a_click_on_its_name_and_the_height_changes_by_a_click(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
):
    stage = GateStage(tmp_path)  # type: ignore[arg-type]
    async with stage.app.run_test(size=(120, 40)) as pilot:
        await stage.opened(pilot, started(), stage.edit())
        await click(pilot, stage, "◉ f1")
        await shows(pilot, "skipped 1")
        await click(pilot, stage, "f smaller")
        await shows(pilot, "f full")
        assert stage.decided == []
    stage.journal.close()


async def test_a_view_of_the_board_and_a_row_are_chosen_by_clicks():
    stage = three()
    async with stage.app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: stage.board.picked is not None)
        await click(pilot, stage, "queue", after="duplicates  ")
        await until(pilot, lambda: stage.board.view.tab == "queue")
        await click(pilot, stage, "findings", after="queue")
        await click(pilot, stage, "finding 1")
        await until(pilot, lambda: stage.board.picked == "f1")


async def test_a_suggestion_is_inserted_by_a_click():
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        stage.play(*RUN)
        await shows(pilot, "Now it.")
        await pilot.press("/", "l", "i")
        await click(pilot, stage, "Change limit")
        await until(pilot, lambda: stage.screen.message.box.text == "/limit ")
        assert stage.screen.message.box.has_focus


async def test_the_answers_of_a_dialog_can_be_clicked():
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        stage.play(*RUN)
        await shows(pilot, "Now it.")
        await pilot.press("ctrl+q")
        await click(pilot, stage, "stay", after="esc")
        await until(pilot, lambda: stage.app.screen is stage.screen)
        assert stage.link.commands == []
