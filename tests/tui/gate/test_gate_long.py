"""Proposals that are longer than the screen (docs/requirements.md 6.7)."""

from __future__ import annotations

from pathlib import Path

from fakes.played_events import proposal, started
from fakes.pressing import press
from fakes.screens import Stage
from fakes.views.gate_stage import GateStage
from fakes.views.open_gate import decisions, opened
from painted import until
from textual.events import Key

from rundry.tui.gate.gate_arming import HELD
from rundry.tui.keys.letters import TYPING


async def test_a_proposal_longer_than_the_screen_is_approved_only_once_its_end_was_seen():
    stage = Stage()
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, stage, started(), proposal(lines=80))
        await press(pilot, "y")
        await pilot.pause()
        assert decisions(stage) == []
        assert "scrolled down: y approves" in stage.text()
        await press(pilot, "end")
        await pilot.pause()
        await pilot.pause(HELD)
        await press(pilot, "y")
        assert decisions(stage) == [("p1", "approve", None)]


async def test_y_scrolls_a_long_proposal_page_by_page_and_approves_only_with_a_new_press_at_its_end():
    stage = Stage()
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, stage, started(), proposal(lines=60))
        presses = 0
        while not stage.screen.gate.arming.end_seen:
            assert decisions(stage) == []
            await press(pilot, "y")
            await pilot.pause(HELD)
            presses += 1
        assert presses > 1
        assert decisions(stage) == []
        await press(pilot, "y")
        await until(pilot, lambda: decisions(stage) == [("p1", "approve", None)])


async def test_y_that_is_held_scrolls_one_page_and_decides_nothing():
    stage = Stage()
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, stage, started(), proposal(lines=20))
        await press(pilot, "y")
        assert "scrolled down: y approves" in stage.text()
        assert stage.screen.gate.arming.end_seen
        await pilot.pause(HELD / 10)  # the first repetition of a held key comes late, the others quickly
        for _ in range(8):
            stage.app.post_message(Key("y", "y"))
        await pilot.pause(TYPING * 2)
        assert decisions(stage) == []
        await press(pilot, "y")
        await until(pilot, lambda: decisions(stage) == [("p1", "approve", None)])


async def test_a_smaller_terminal_never_hides_the_keys_of_a_proposal_that_does_not_fill_it(tmp_path: Path):
    stage = GateStage(tmp_path)
    async with stage.app.run_test(size=(120, 40)) as pilot:
        await stage.opened(pilot, started(), stage.edit())
        await press(pilot, "f")
        assert not stage.screen.gate.takes_all
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: "y approve" in stage.text())
    stage.journal.close()
