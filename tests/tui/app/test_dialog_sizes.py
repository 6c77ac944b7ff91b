"""Dialogs cover what is below them, and their rows fit the screen."""

from __future__ import annotations

import pytest
from fakes.played_events import started
from fakes.screens import Stage
from painted import shows

from rundry.agent import Charged, RecordedChange, StepStarted
from rundry.agent.state.facts.change_log import FileEffect
from rundry.tui.pages.leave_page import LeaveScreen
from rundry.tui.pages.spend_page import SpendScreen
from rundry.tui.pages.undo_page import UndoScreen


def edited(path: str, step: int) -> RecordedChange:
    return RecordedChange(
        seq=step, step=step, command=None, world=None, files={path: FileEffect(before=None, after=None)}
    )


SIZES = [(60, 20), (80, 24), (120, 40), (200, 50)]


@pytest.mark.parametrize("theme", ["dark", "light", "terminal"])
@pytest.mark.parametrize("size", SIZES)
async def test_nothing_of_the_screen_below_a_dialog_is_painted(theme: str, size: tuple[int, int]):
    stage = Stage()
    stage.play(started(), StepStarted(number=1))
    async with stage.app.run_test(size=size) as pilot:
        stage.app.theme = theme
        await shows(pilot, "fix the failing suite")
        for dialog, shown in (
            (UndoScreen([edited("a.py", 2)], None), "Undo 1 change"),
            (LeaveScreen(), "What should happen"),
        ):
            await stage.app.push_screen(dialog)
            text = await shows(pilot, shown)
            assert "fix the failing suite" not in text and "rundry  " not in text
            assert "─" not in text
            stage.app.pop_screen()


@pytest.mark.parametrize("size", [(40, 14), *SIZES])
async def test_each_change_to_undo_has_one_row_and_the_answers_stay_visible(size: tuple[int, int]):
    stage = Stage()
    stage.play(started())
    changes = [edited(f"src/package/module_{n}.py", n) for n in range(14)]
    async with stage.app.run_test(size=size) as pilot:
        await stage.app.push_screen(UndoScreen(changes, None))
        text = await shows(pilot, "cancel")
        rows = [line for line in text.splitlines() if "step" in line]
        assert rows and all("edit src" in row for row in rows), text
        assert "undo" in text and "older change" in text


@pytest.mark.parametrize("size", [(50, 14), *SIZES])
async def test_each_model_has_one_row_with_its_share(size: tuple[int, int]):
    stage = Stage()
    stage.play(started(), StepStarted(number=1), Charged(tokens_in=900, tokens_out=100, usd=0.01))
    async with stage.app.run_test(size=size) as pilot:
        await pilot.pause()
        await stage.caught_up(pilot)
        await stage.app.push_screen(SpendScreen(stage.controller.state))
        text = await shows(pilot, "100%")
        (row,) = [line for line in text.splitlines() if "100%" in line]
        assert "›" in row and "0.01" in row
