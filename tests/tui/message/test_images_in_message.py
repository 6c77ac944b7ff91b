from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fakes.pictures import HEIC, SVG, gif, jpeg, png
from fakes.played_events import started
from fakes.screens import PlayedStart, Stage
from painted import shows, until
from textual import events
from textual.pilot import Pilot

from rundry.agent import ImagesRefused, Queued, Said, Say, Steer, StepStarted
from rundry.tui.message.completion import complete


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "shot.png").write_bytes(png())
    (tmp_path / "my shot.jpg").write_bytes(jpeg())
    (tmp_path / "logo.svg").write_bytes(SVG)
    (tmp_path / "photo.heic").write_bytes(HEIC)
    (tmp_path / "notes.txt").write_text("text")
    return tmp_path


def running(work: Path, **changes: object) -> tuple[object, ...]:
    return (started(workspace=str(work), **changes), StepStarted(number=1))


async def paste(stage: Stage, pilot: Pilot[Any], text: str) -> None:
    stage.screen.message.box.post_message(events.Paste(text))
    await pilot.pause()


def test_an_image_keeps_its_sign_when_it_is_completed_and_a_text_file_does_not():
    found = complete("see @s", first_line=True, files=["a/shot one.png", "src.py"])
    assert found is not None
    assert sorted(row.insert for row in found.rows) == ['@"a/shot one.png" ', "src.py "]


async def test_the_box_shows_what_a_message_will_carry_and_sends_it(work: Path):
    stage = Stage()
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.play(*running(work))
        await stage.caught_up(pilot)
        stage.screen.message.box.text = 'compare @shot.png and @"my shot.jpg"'
        await shows(pilot, "attaching image shot.png, 800x600")
        assert "attaching image my shot.jpg, 640x480" in stage.text()
        stage.screen.message.box.send(steer=False)
        await pilot.pause()
        (command,) = stage.link.commands
        assert isinstance(command, Say)
        assert [(i.name, i.media) for i in command.images] == [("shot.png", "image/png"), ("my shot.jpg", "image/jpeg")]
        assert stage.link.kept == [png(), jpeg()]
        assert "attaching" not in stage.text()


async def test_a_steering_message_carries_images_too(work: Path):
    stage = Stage()
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.play(*running(work))
        await stage.caught_up(pilot)
        stage.screen.message.box.text = "no, like @shot.png"
        stage.screen.message.box.send(steer=True)
        await pilot.pause()
        (command,) = stage.link.commands
        assert isinstance(command, Steer)
        assert [image.name for image in command.images] == ["shot.png"]


@pytest.mark.parametrize(
    ("pasted", "box"),
    [
        ("{0}/shot.png", "@shot.png "),
        ("'{0}/my shot.jpg'", '@"my shot.jpg" '),
        ("{0}/my\\ shot.jpg {0}/shot.png", '@"my shot.jpg" @shot.png '),
        ("file://{0}/my%20shot.jpg\n", '@"my shot.jpg" '),
        ("{0}/my shot.jpg", '@"my shot.jpg" '),
        ("{0}/photo.heic", "@photo.heic "),
        ("{0}/notes.txt", "{0}/notes.txt"),
        ("{0}/logo.svg", "{0}/logo.svg"),
        ("{0}/missing.png", "{0}/missing.png"),
    ],
)
async def test_a_pasted_path_of_a_picture_becomes_a_mention(work: Path, pasted: str, box: str):
    stage = Stage(start=PlayedStart(work))
    async with stage.app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        await paste(stage, pilot, pasted.format(work))
        await pilot.pause()
        assert stage.screen.message.box.text == box.format(work)


async def test_a_path_pasted_behind_words_or_into_a_shell_line(work: Path):
    stage = Stage(start=PlayedStart(work))
    async with stage.app.run_test(size=(100, 30)) as pilot:
        box = stage.screen.message.box
        box.fill("look:")
        await paste(stage, pilot, f"{work}/shot.png")
        assert box.text == "look: @shot.png "
        box.fill("!file ")
        await paste(stage, pilot, f"{work}/shot.png")
        assert box.text == f"!file {work}/shot.png"
        await pilot.pause()
        assert "attaching" not in stage.text()


async def test_what_cannot_be_attached_is_reported_while_it_is_typed_and_never_sent(work: Path):
    stage = Stage()
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.play(*running(work))
        await stage.caught_up(pilot)
        stage.screen.message.box.text = "see @photo.heic"
        await shows(pilot, "photo.heic is HEIC: attach PNG, JPEG, GIF or WebP")
        stage.screen.message.box.send(steer=False)
        await pilot.pause()
        assert stage.link.commands == []
        assert stage.screen.message.box.text == "see @photo.heic"


@pytest.mark.parametrize("refused", [False, True])
async def test_a_message_with_an_image_is_not_sent_to_a_model_that_cannot_see(work: Path, refused: bool):
    stage = Stage()
    async with stage.app.run_test(size=(140, 30)) as pilot:
        if refused:
            stage.play(*running(work), ImagesRefused(model="ollama_chat/qwen3:8b"))
        else:
            stage.play(*running(work, sees_images=False))
        await stage.caught_up(pilot)
        stage.screen.message.box.text = "see @shot.png"
        stage.screen.message.box.send(steer=False)
        await shows(pilot, "does not accept images: switch to a model that does (/model NAME")
        assert (stage.link.commands, stage.link.kept) == ([], [])
        assert stage.screen.message.box.text == "see @shot.png"


async def test_the_first_message_begins_the_run_with_its_images(work: Path):
    stage = Stage(start=PlayedStart(work))
    async with stage.app.run_test(size=(100, 30)):
        stage.controller.send_message("what is in @shot.png?")
        (spec,) = stage.link.begun
        assert [image.name for image in spec.images] == ["shot.png"]
        assert stage.link.kept == [png()]


async def test_the_transcript_names_the_images_as_foreign_text(work: Path):
    (work / "evil\x1b[31m\u202e.png").write_bytes(gif())
    from rundry.agent import attach

    text = 'see @shot.png @"evil\x1b[31m\u202e.png"'
    images = [one.ref for one in attach(text, work)]
    stage = Stage()
    async with stage.app.run_test(size=(120, 30)) as pilot:
        stage.play(*running(work), Queued(queued_id=1, text=text, images=images))
        stage.play(Said(text=text, queued_id=1, images=images))
        shown = await shows(pilot, "[image evil")
        assert "[image shot.png, 800x600]" in shown
        assert "[image evil␛[31m⟨U+202E⟩.png, 32x16]" in shown
        assert "\x1b[31m\u202e" not in shown


async def test_the_images_of_the_task_stand_below_it(work: Path):
    from rundry.agent import attach

    images = [one.ref for one in attach("@shot.png", work)]
    stage = Stage()
    async with stage.app.run_test(size=(120, 30)) as pilot:
        stage.play(started("see @shot.png", workspace=str(work)))
        stage.play(Said(text="see @shot.png", kind="task", images=images))
        await until(pilot, lambda: stage.text().count("[image shot.png, 800x600]") == 1)


async def test_a_folded_paste_attaches_nothing(work: Path):
    stage = Stage()
    async with stage.app.run_test(size=(120, 30)) as pilot:
        stage.play(*running(work))
        await stage.caught_up(pilot)
        box = stage.screen.message.box
        box.fill("why this? ")
        await paste(stage, pilot, "log\n" * 20 + "see @shot.png and @missing.png")
        assert "[paste 1:" in box.text
        box.send(steer=False)
        await pilot.pause()
        (command,) = stage.link.commands
        assert isinstance(command, Say)
        assert "@shot.png" in command.text
        assert (command.images, stage.link.kept) == ([], [])
