"""The commands of a stage: begin one, apply it, leave it. The runner exits meanwhile."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fakes.played_events import started
from fakes.screens import PlayedStart, Stage
from painted import shows, until

from rundry.agent import (
    FileChanged,
    GateMode,
    GateModeChanged,
    LoopKind,
    Park,
    Reason,
    RunEnded,
    SetGateMode,
    StageBegan,
    StageEnded,
    Waiting,
)

SIZE = (120, 40)
CHANGED = FileChanged(path="a.py", by="model", before=None, after="x", staged=True)
IN_STAGE = (GateModeChanged(mode=GateMode.STAGE), StageBegan(folder="stage-1"), CHANGED)


@pytest.fixture
def stage() -> Iterator[Stage]:
    yield Stage()


async def enter(pilot, text: str) -> None:
    await pilot.press(*[{" ": "space", "/": "slash"}.get(key, key) for key in text], "enter")


async def test_the_header_the_footer_and_the_cycling_key_say_that_the_run_works_in_a_stage(stage: Stage):
    async with stage.app.run_test(size=SIZE) as pilot:
        stage.play(started("hello", loop=LoopKind.CHAT), *IN_STAGE, Waiting(why="message"))
        await shows(pilot, "1 file staged")
        assert "stage ⇧tab" in stage.text()
        await pilot.press("shift+tab")
        await shows(pilot, "/apply decides on it, /gate MODE leaves it")
        assert not any(isinstance(command, SetGateMode) for command in stage.link.commands)


async def test_a_file_that_is_as_before_and_one_that_was_applied_are_not_counted(stage: Stage):
    applied = FileChanged(path="a.py", by="command", before=None, after="x")
    other = FileChanged(path="b.py", by="model", before="1", after="2", staged=True)
    back = FileChanged(path="b.py", by="model", before="2", after="1", staged=True)
    async with stage.app.run_test(size=SIZE) as pilot:
        stage.play(started("hello", loop=LoopKind.CHAT), *IN_STAGE, other, Waiting(why="message"))
        await shows(pilot, "2 files staged")
        stage.play(applied)
        await shows(pilot, "1 file staged")
        stage.play(back)
        await until(pilot, lambda: "staged" not in stage.text().splitlines()[0])
        assert "stage" in stage.text().splitlines()[0]
        stage.play(StageEnded(how="applied"))
        await until(pilot, lambda: "stage" not in stage.text().splitlines()[0])


async def test_the_end_of_a_run_names_what_is_staged_and_offers_to_apply_it(stage: Stage):
    end = RunEnded(reason=Reason.HANDOFF, detail="1 file staged", complete=False, exit_code=5, staged=["a.py"])
    async with stage.app.run_test(size=SIZE) as pilot:
        stage.play(started("fix"), *IN_STAGE, end)
        text = await shows(pilot, "a apply")
        assert "1 file staged" in text and "apply what is staged" in text
        stage.play(StageEnded(how="applied"))
        await until(pilot, lambda: "a apply" not in stage.text() and "apply what is staged" not in stage.text())


async def test_apply_without_a_stage_and_stage_in_a_search_say_why_not(stage: Stage):
    async with stage.app.run_test(size=SIZE) as pilot:
        stage.play(started("hello", loop=LoopKind.CHAT), Waiting(why="message"))
        await shows(pilot, "hello")
        await enter(pilot, "/apply")
        await shows(pilot, "nothing is staged: /stage lets the run work in a stage")
        assert not any(isinstance(command, Park) for command in stage.link.commands)


async def test_the_reason_of_a_refused_park_is_shown(stage: Stage):
    from rundry.agent import CommandRefused

    async with stage.app.run_test(size=SIZE) as pilot:
        stage.play(started("hello", loop=LoopKind.CHAT))
        await shows(pilot, "hello")
        await enter(pilot, "/stage")
        await until(pilot, lambda: any(isinstance(command, Park) for command in stage.link.commands))
        number = len(stage.link.commands)
        stage.play(CommandRefused(command_id=number, command="park", why="the run works: interrupt or pause it first"))
        await shows(pilot, "the stage was refused: the run works")


async def test_leaving_a_stage_with_something_staged_asks_first_and_keeps_it_at_esc(stage: Stage):
    async with stage.app.run_test(size=SIZE) as pilot:
        stage.play(started("hello", loop=LoopKind.CHAT), *IN_STAGE, Waiting(why="message"))
        await shows(pilot, "1 file staged")
        await enter(pilot, "/gate edits")
        text = await shows(pilot, "What should happen to it?")
        assert "look at it" in text and "drop it" in text and "stay in the stage" in text
        await pilot.press("escape")
        await shows(pilot, "it stays staged")
        assert stage.link.commands == []


async def test_stage_before_the_first_message_sets_the_mode(tmp_path):
    stage = Stage(start=PlayedStart(tmp_path))
    async with stage.app.run_test(size=SIZE) as pilot:
        await enter(pilot, "/stage")
        await until(pilot, lambda: "stage ⇧tab" in stage.text())
