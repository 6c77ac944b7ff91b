"""`/settings` shows each value with its origin; `/doctor` shows what `rundry doctor` checks."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from fakes.pressing import press
from fakes.screens import PlayedStart, Stage
from painted import shows, until

from rundry.agent import Fitness, Sandbox, Survey, UserError
from rundry.agent.layers.remedies import Remedy
from rundry.tui.pages.doctor_page import DoctorPicker
from rundry.tui.start.machine_checkup import Checkup


def a_stage(folder: Path) -> Stage:
    return Stage(start=PlayedStart(folder))


async def test_settings_show_what_was_set_first_with_its_origin_and_where_to_change_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("RUNDRY_STEPS", "7")
    stage = a_stage(tmp_path)
    async with stage.app.run_test(size=(100, 30)) as pilot:
        await shows(pilot, "ask")
        await pilot.press(*"/settings", "enter")
        text = await shows(pilot, "change it: --steps, RUNDRY_STEPS, or budget.steps in .rundry.toml or")
        assert "steps = 7   (environment RUNDRY_STEPS)" in text
        rows = [line for line in text.splitlines() if "environment RUNDRY_STEPS" in line or "default" in line]
        assert "RUNDRY_STEPS" in rows[0]
        await press(pilot, *"gate")
        await shows(pilot, "change it: --gate")
        await press(pilot, *"nothing")
        await shows(pilot, "no setting has this text")
        await press(pilot, "escape")
        assert stage.screen.message.box.text == ""


def found_here(folder: Path) -> Checkup:
    sandbox = Sandbox(None, why_none="bubblewrap is missing")
    layers = Fitness(step="overlay", why="no", remedy=Remedy("Load it.", ("sudo modprobe overlay",)))
    return Checkup([f"folder     {folder}"], sandbox, layers, Survey(), [], missing=["no model is set up"])


async def test_doctor_says_what_is_missing_before_what_was_found(tmp_path: Path):
    async def check() -> Checkup:
        return found_here(tmp_path)

    stage = a_stage(tmp_path)
    async with stage.app.run_test(size=(100, 30)) as pilot:
        await shows(pilot, "ask")
        stage.app.push_screen(DoctorPicker(check()))
        text = await shows(pilot, "!  no model is set up")
        assert text.index("no model is set up") < text.index("bubblewrap is missing")
        assert text.index("do not work here (overlay: no)") < text.index("sudo modprobe overlay")


async def test_text_typed_during_the_checks_filters_what_they_find(tmp_path: Path):
    may_end = asyncio.Event()

    async def check() -> Checkup:
        await may_end.wait()
        return found_here(tmp_path)

    stage = a_stage(tmp_path)
    async with stage.app.run_test(size=(100, 30)) as pilot:
        await shows(pilot, "ask")
        stage.app.push_screen(DoctorPicker(check()))
        await shows(pilot, "checking this machine…")
        await press(pilot, *"missing bubble")
        await shows(pilot, "missing bubble")
        may_end.set()
        assert "no model is set up" not in await shows(pilot, "bubblewrap is missing")
        await press(pilot, *"x")
        await shows(pilot, "no line has this text")


async def test_doctor_shows_why_a_check_failed(tmp_path: Path):
    async def check() -> Checkup:
        raise UserError("trust.json is damaged")

    stage = a_stage(tmp_path)
    async with stage.app.run_test(size=(100, 30)) as pilot:
        await shows(pilot, "ask")
        stage.app.push_screen(DoctorPicker(check()))
        await shows(pilot, "not checked: trust.json is damaged")


async def test_doctor_checks_this_machine(tmp_path: Path):
    stage = a_stage(tmp_path)
    async with stage.app.run_test(size=(100, 30)) as pilot:
        await shows(pilot, "ask")
        await press(pilot, *"/doctor", "enter")
        await until(pilot, lambda: isinstance(stage.app.screen, DoctorPicker))
        await shows(pilot, "journals   ")
        await press(pilot, "escape")
        await until(pilot, lambda: stage.app.screen is stage.screen)
