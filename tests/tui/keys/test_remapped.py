"""Keys that the user's config changes: they work in every part, and every text shows them."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.played_events import proposal, started
from fakes.pressing import press
from fakes.screens import PlayedStart, Stage
from painted import shows, until

from rundry.agent import Decide, StepStarted, TextArrived
from rundry.tui.app.app import RundryApp
from rundry.tui.keys.lookup import ACTIONS
from rundry.tui.pages.rewind_page import RewindScreen
from rundry.tui.start.remaps import check_keys

RUN = (started(), StepStarted(number=1), TextArrived(text="Now the parser."))


class Remapped(Stage):
    def __init__(self, **keys: str) -> None:
        super().__init__()
        self.app = RundryApp(self.controller, keys=keys)


@pytest.mark.parametrize("action", [action for action in ACTIONS if action.where == "main"], ids=lambda each: each.name)
async def test_every_action_of_the_session_can_have_a_key_also_one_without_a_default(action: object):
    name = action.name  # type: ignore[attr-defined]
    assert check_keys({name: "f13"}) == ({name: "f13"}, [])
    stage = Remapped(**{name: "f13"})
    done: list[str] = []
    async with stage.app.run_test(size=(100, 30)) as pilot:
        bound = pilot.app.screen.active_bindings["f13"].binding
        done.append(bound.id or "")
    assert done == [name]


async def test_an_action_without_a_default_key_is_carried_out_by_the_key_of_the_config():
    stage = Remapped(spend="ctrl+y")
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.play(*RUN)
        await shows(pilot, "Now the parser.")
        await pilot.press("ctrl+y")
        await shows(pilot, "no model was called yet")
        assert not isinstance(stage.app.screen, RewindScreen)


async def test_the_box_sends_and_breaks_lines_by_the_keys_of_the_config():
    stage = Remapped(send="alt+enter", newline="enter")
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.play(*RUN)
        await shows(pilot, "Now the parser.")
        await pilot.press("a", "enter", "b")
        assert stage.screen.message.box.text == "a\nb"
        await pilot.press("alt+enter")
        await until(pilot, lambda: stage.link.commands)
        assert stage.screen.message.box.text == ""


async def test_the_transcript_takes_the_keys_of_the_config():
    stage = Remapped(copy_entry="c", to_message="q")
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.play(*RUN)
        await shows(pilot, "Now the parser.")
        await press(pilot, "f10", "c")
        assert "Now the parser." in stage.app.clipboard
        await shows(pilot, "q message")
        await press(pilot, "q")
        await until(pilot, lambda: stage.screen.message.box.has_focus)


async def test_help_palette_footer_and_gate_show_the_key_of_the_config_and_never_the_default():
    stage = Remapped(pause="ctrl+y", approve="z", reject="x", to_gate="ctrl+b", steer="ctrl+v", split="l")
    async with stage.app.run_test(size=(120, 60)) as pilot:
        stage.play(*RUN)
        await shows(pilot, "^y pause")
        assert "F4" not in stage.text()
        await shows(pilot, "^v steer")
        commands = {command.title: command.help for command in stage.app.get_system_commands(stage.screen)}
        assert commands["Pause run"].startswith("^y ")
        await pilot.press("h", "i")
        stage.play(proposal())
        await shows(pilot, "^b to decide")
        await pilot.press("ctrl+b")
        await shows(pilot, "z approve")
        assert "x reject" in stage.text() and "y approve" not in stage.text()
        await press(pilot, "z")
        await until(pilot, lambda: any(isinstance(command, Decide) for command in stage.link.commands))
        await pilot.press("f1")
        text = await shows(pilot, "Pause run")
        (row,) = [line for line in text.splitlines() if "Pause run" in line]
        assert row.split("Pause run")[0].strip(" │").endswith("^y")


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"pause": "ctrl+i"}, "a terminal sends"),
        ({"pause": "ctrl+c"}, "also the key of copy_or_leave"),
        ({"copy_entry": "j"}, "also the key of later, in the transcript"),
        ({"approve": "ctrl+s"}, "also the key of steer"),
        ({"pause": "question_mark"}, "typed into the message"),
    ],
)
def test_a_key_that_cannot_work_is_named(keys: dict[str, str], words: str):
    (wrong,) = check_keys(keys)[1]
    assert words in str(wrong)


@pytest.mark.parametrize("keys", [{"detail": "enter,l"}, {"pause": ""}, {"send": "ctrl+s", "steer": "alt+s"}])
def test_a_key_that_works_is_not_reported(keys: dict[str, str]):
    assert check_keys(keys)[1] == []


async def test_the_first_screen_and_its_notices_name_the_keys_of_the_config(tmp_path: Path):
    stage = Stage(start=PlayedStart(tmp_path))
    stage.app = RundryApp(stage.controller, keys={"model": "ctrl+y", "interrupt": "f13", "copy_or_leave": "ctrl+b"})
    async with stage.app.run_test(size=(100, 30)) as pilot:
        text = await shows(pilot, "^y model")
        assert "F7" not in text
        await pilot.press("h", "f13")
        await shows(pilot, "press F13 again to clear")
        await pilot.press("ctrl+b")
        await shows(pilot, "press ^b again to leave")


async def test_the_help_leaves_a_blank_between_what_an_action_does_and_its_command():
    stage = Stage()
    async with stage.app.run_test(size=(120, 260)) as pilot:
        await pilot.press("f1")
        text = await shows(pilot, "When a run has ended")
    missing = [action.slash for action in ACTIONS if action.typed and f" /{action.slash}" not in text]
    assert missing == []
