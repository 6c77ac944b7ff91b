"""The palette has rundry's own look: a list that is searched by typing, without an emoji."""

from __future__ import annotations

import unicodedata

import pytest
from fakes.played_events import started
from fakes.pressing import press
from fakes.screens import Stage
from painted import shows, until

from rundry.agent import Pause, StepStarted

RUN = (started(), StepStarted(number=1))


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40), (200, 50)])
async def test_it_lists_actions_with_their_keys_and_no_emoji(size: tuple[int, int]):
    stage = Stage()
    async with stage.app.run_test(size=size) as pilot:
        stage.play(*RUN)
        await stage.caught_up(pilot)
        await press(pilot, "ctrl+p")
        text = await shows(pilot, "type to search")
        assert "Interrupt" in text and "esc" in text
        assert not [sign for sign in text if unicodedata.category(sign) == "So" and ord(sign) > 0x2BFF]


async def test_typing_narrows_it_and_enter_runs_the_marked_command():
    stage = Stage()
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.play(*RUN)
        await stage.caught_up(pilot)
        await press(pilot, "ctrl+p")
        await shows(pilot, "type to search")
        await press(pilot, *"pause ru")
        await until(pilot, lambda: "Switch model" not in stage.text())
        await press(pilot, "enter")
        await until(pilot, lambda: stage.link.commands == [Pause(now=False)])
        assert stage.app.screen is stage.screen


async def test_esc_closes_it_and_runs_nothing():
    stage = Stage()
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.play(*RUN)
        await stage.caught_up(pilot)
        await press(pilot, "ctrl+p")
        await shows(pilot, "type to search")
        await press(pilot, *"zzz")
        await shows(pilot, "no command has this text")
        await press(pilot, "enter", "escape")
        await until(pilot, lambda: stage.app.screen is stage.screen)
        assert stage.link.commands == []


async def test_it_says_what_the_marked_command_does_and_searches_that_too():
    stage = Stage()
    async with stage.app.run_test(size=(80, 24)) as pilot:
        stage.play(*RUN)
        await stage.caught_up(pilot)
        await press(pilot, "ctrl+p")
        await shows(pilot, "Show keys: every key and command")
        await press(pilot, *"decides when")
        await shows(pilot, "Set check: that decides when the task is done")
        assert "Interrupt" not in stage.text()
