"""What the user sends jumps to the end of the transcript, where its answer will be."""

from __future__ import annotations

from typing import Any

import pytest
from fakes.played_events import proposal, started
from fakes.screens import Stage
from painted import shows, until
from textual.pilot import Pilot

from rundry.agent import Paused, QuestionAsked, StepStarted, TextArrived

SIZE = (100, 30)
LONG = TextArrived(text="\n\n".join(f"old line {n}" for n in range(80)))
RUN = (started(), StepStarted(number=1), LONG)


async def scrolled_up(pilot: Pilot[Any], stage: Stage, *events: object) -> None:
    stage.play(*RUN, *events)
    await shows(pilot, "old line 79")
    await pilot.press("pageup", "pageup")
    await until(pilot, lambda: not stage.screen.transcript.at_end)


SENDS: dict[str, tuple[list[str], tuple[object, ...]]] = {
    "a message": ([*"go on", "enter"], ()),
    "a message that interrupts": ([*"stop it", "ctrl+s"], ()),
    "an answer": ([*"blue", "enter"], (QuestionAsked(question_id="q", question="which colour?"),)),
    "the number of an answer": (
        ["1", "enter"],
        (QuestionAsked(question_id="q", question="which colour?", options=["blue", "red"]),),
    ),
    "a shell line": ([*"!ls", "enter"], ()),
    "a command that shows something": ([*"/compact", "enter"], ()),
    "a command with an argument": ([*"/limit steps 9", "enter"], ()),
    "a message to a paused run": ([*"go on", "enter"], (Paused(),)),
    "a message at a gate": ([*"why that?", "enter"], (proposal(),)),
}


@pytest.mark.parametrize("name", SENDS)
async def test_what_is_sent_while_scrolled_up_jumps_to_the_end_and_follows_it(name: str):
    keys, events = SENDS[name]
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        await scrolled_up(pilot, stage)
        stage.play(*events)
        await stage.caught_up(pilot)
        for key in keys:
            await pilot.press("space" if key == " " else key)
        await until(pilot, lambda: bool(stage.link.commands))
        await until(pilot, lambda: stage.screen.transcript.at_end)
        stage.play(TextArrived(text="\n\nthe answer"))
        await shows(pilot, "the answer")


READS = {
    "/find": [*"/find 12", "enter"],
    "a refused command": [*"/nosuch", "enter"],
    "/help": ["f1", "escape"],
    "a key of the run": ["f4"],
    "typing": [*"not sent yet"],
}


@pytest.mark.parametrize("name", READS)
async def test_what_sends_nothing_leaves_the_place_that_is_read(name: str):
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        await scrolled_up(pilot, stage)
        for key in READS[name]:
            await pilot.press("space" if key == " " else key)
        await pilot.pause()
        await stage.caught_up(pilot)
        assert not stage.screen.transcript.at_end
