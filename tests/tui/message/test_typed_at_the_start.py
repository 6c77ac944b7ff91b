"""Keys that arrive while the screen starts: the draft of the first frame is in the box before they count."""

from __future__ import annotations

from fakes.screens import PlayedStart, Stage
from textual import events

from rundry.tui.app.app import RundryApp
from rundry.tui.text.first_frame import Typed


def app_with_draft(tmp_path, draft: str) -> tuple[Stage, RundryApp]:
    stage = Stage(start=PlayedStart(tmp_path))
    return stage, RundryApp(stage.controller, typed=Typed(draft=draft))


async def test_enter_pressed_before_the_draft_is_in_the_box_sends_it(tmp_path):
    stage, app = app_with_draft(tmp_path, "go")
    app.post_message(events.Key("enter", "\r"))
    async with app.run_test() as pilot:
        await pilot.pause()
        assert [spec.task for spec in stage.link.begun] == ["go"]


async def test_letters_typed_before_the_draft_is_in_the_box_follow_it(tmp_path):
    _, app = app_with_draft(tmp_path, "he")
    for letter in "llo":
        app.post_message(events.Key(letter, letter))
    async with app.run_test() as pilot:
        await pilot.pause()
        assert app.focused is not None and app.focused.text == "hello"  # type: ignore[attr-defined]


async def test_the_runner_hears_of_the_model_when_a_person_begins_to_type(tmp_path):
    stage = Stage(start=PlayedStart(tmp_path, model="openai/fake"))
    async with stage.app.run_test() as pilot:
        await pilot.pause()
        assert ("openai/fake", True) not in stage.link.expected
        await pilot.press("h")
        await pilot.pause()
        assert stage.link.expected[-1] == ("openai/fake", True)
