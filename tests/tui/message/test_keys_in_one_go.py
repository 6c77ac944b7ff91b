"""A slow line or a macro sends many keys at once: each does its work in its turn."""

from __future__ import annotations

from pathlib import Path

from fakes.played_events import started
from fakes.pressing import press
from fakes.views.gate_stage import GateStage
from painted import shows, until
from textual import events

from rundry.agent.protocol import Steer

KEYS = ["a", "b", "c", "home", "x", "end", "y", "z", "backspace", "left", "d"]
"""Leaves `xabcdy`."""
SIZE = (100, 40)


def send(stage: GateStage) -> None:
    for key in KEYS:
        stage.app.post_message(events.Key(key, key if len(key) == 1 else None))


async def test_letters_and_arrows_of_a_message_keep_their_order(tmp_path: Path):
    stage = GateStage(tmp_path)
    async with stage.app.run_test(size=SIZE) as pilot:
        stage.play(started())
        box = stage.screen.message.box
        await until(pilot, lambda: box.has_focus)
        send(stage)
        await until(pilot, lambda: len(box.text) == 6)
        await pilot.pause()
        assert box.text == "xabcdy"


async def test_what_is_steered_is_the_whole_message(tmp_path: Path):
    stage = GateStage(tmp_path)
    async with stage.app.run_test(size=SIZE) as pilot:
        stage.play(started())
        box = stage.screen.message.box
        await until(pilot, lambda: box.has_focus)
        send(stage)
        stage.app.post_message(events.Key("ctrl+s", None))
        await until(pilot, lambda: bool(stage.link.commands))
        assert stage.link.commands == [Steer(text="xabcdy")]
        assert box.text == ""


async def test_letters_and_arrows_of_a_reason_keep_their_order(tmp_path: Path):
    stage = GateStage(tmp_path)
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), stage.edit())
        await pilot.press("tab")
        send(stage)
        await pilot.pause()
        await press(pilot, "enter", "n")
        (command,) = stage.decided
        assert command.reason == "xabcdy"


async def test_letters_and_arrows_of_an_edit_keep_their_order(tmp_path: Path):
    stage = GateStage(tmp_path)
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), stage.edit(old=None, new="\n", path="new.txt", tool="write_file"))
        await pilot.press("E")
        await shows(pilot, "keep your version")
        send(stage)
        await pilot.pause()
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "edited by you" in stage.text() and stage.takes_keys())
        await press(pilot, "y")
        (command,) = stage.decided
        assert command.text == "xabcdy\n"
