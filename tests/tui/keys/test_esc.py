"""Esc goes one step back in every place that can have the focus, and ends nothing else: see docs/how-to/keys.md."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fakes.played_events import proposal, started
from fakes.pressing import press
from fakes.screens import PlayedStart, Stage
from fakes.views.board_screen import on_board, three
from fakes.views.open_gate import decisions, opened
from painted import shows, until
from textual.pilot import Pilot

from rundry.agent import Interrupt, Paused, Queued, Reason, RunEnded, Sleeping, StepStarted, TextArrived
from rundry.tui.gate.gate_arming import GRACE

RUN = (started(), StepStarted(number=1), TextArrived(text="Now the parser."))
OVER = RunEnded(reason=Reason.DONE, detail="check passed", complete=True, exit_code=0)
Enter = Callable[[Pilot[Any], Stage], Awaitable[None]]


@dataclass(frozen=True)
class Place:
    """A place with the focus: how to get there, what Esc leads to, and the commands that it sends to the run."""

    events: tuple[object, ...]
    enter: Enter
    after: Callable[[Stage], object]
    sends: list[object] = field(default_factory=list[object])
    stage: Callable[[], Stage] = Stage


def pressing(*keys: str, until_text: str = "") -> Enter:
    async def enter(pilot: Pilot[Any], stage: Stage) -> None:
        if until_text:
            await shows(pilot, until_text)
        await press(pilot, *keys)

    return enter


def at_gate(*keys: str) -> Enter:
    async def enter(pilot: Pilot[Any], stage: Stage) -> None:
        await opened(pilot, stage)
        await until(pilot, lambda: stage.screen.gate.has_focus)
        await press(pilot, *keys)

    return enter


async def typed_at_a_gate(pilot: Pilot[Any], stage: Stage) -> None:
    await pilot.press("h", "i")
    await opened(pilot, stage, proposal())
    await pilot.pause(GRACE + 0.1)
    assert stage.screen.message.box.has_focus


async def on_a_board(pilot: Pilot[Any], stage: Stage) -> None:
    await on_board(pilot, stage)  # type: ignore[arg-type]


async def in_a_detail(pilot: Pilot[Any], stage: Stage) -> None:
    await on_board(pilot, stage)  # type: ignore[arg-type]
    await pilot.press("enter")
    await shows(pilot, "esc back")


async def asked_for_a_verdict(pilot: Pilot[Any], stage: Stage) -> None:
    await on_board(pilot, stage)  # type: ignore[arg-type]
    await press(pilot, "c")
    await shows(pilot, "confirm  finding")


def in_box(stage: Stage) -> bool:
    return stage.app.screen is stage.screen and stage.screen.message.box.has_focus


def in_gate(stage: Stage) -> bool:
    return stage.app.screen is stage.screen and stage.screen.gate.has_focus


PLACES: dict[str, Place] = {
    "box, streaming": Place(RUN, pressing(until_text="parser"), in_box, [Interrupt()]),
    "box with text, streaming": Place(
        RUN, pressing("h", until_text="parser"), lambda s: s.screen.message.box.text == "h", [Interrupt()]
    ),
    "box with text, paused": Place(
        (started(), Paused()), pressing("h"), lambda s: "esc again to clear" in s.text() and in_box(s)
    ),
    "box, paused": Place((started(), Paused()), pressing(), lambda s: "esc again to rewind" in s.text()),
    "box, sleeping": Place(
        (started(), Sleeping(seconds=99, asked=99, why="CI")), pressing(), lambda s: "again to rewind" in s.text()
    ),
    "completion": Place(
        RUN, pressing("/", "l", until_text="parser"), lambda s: s.screen.message.suggestions.completion is None
    ),
    "box with queue": Place((*RUN, Queued(queued_id=1, text="docs")), pressing(), in_box, [Interrupt()]),
    "box, at a gate": Place(RUN, typed_at_a_gate, lambda s: in_box(s) and s.screen.message.box.text == "hi"),
    "gate": Place((started(), proposal()), at_gate(), in_box),
    "gate, why": Place((started(), proposal()), at_gate("i"), in_gate),
    "gate, rule shown": Place((started(), proposal()), at_gate("A"), in_gate),
    "gate, reason": Place((started(), proposal()), at_gate("tab", "n", "o"), in_gate),
    "gate, full height": Place((started(), proposal()), at_gate("f"), lambda s: not s.screen.gate.takes_all),
    "transcript": Place(RUN, pressing("f10", until_text="parser"), in_box),
    "find": Place(RUN, pressing(*"/find parser", "enter", until_text="parser"), in_box),
    "board": Place((), on_a_board, in_box, stage=three),
    "board, detail": Place((), in_a_detail, lambda s: s.screen.search.board.has_focus, stage=three),
    "board, verdict": Place((), asked_for_a_verdict, lambda s: s.screen.search.board.has_focus, stage=three),
    "help": Place(RUN, pressing("f1", until_text="parser"), in_box),
    "palette": Place(RUN, pressing("ctrl+p", until_text="parser"), in_box),
    "models": Place(RUN, pressing("f7", until_text="parser"), in_box),
    "leaving": Place(RUN, pressing("ctrl+q", until_text="parser"), in_box),
    "replay": Place(RUN, pressing("?", until_text="parser"), in_box),
    "ended": Place((*RUN, OVER), pressing("h"), lambda s: "esc again to clear" in s.text()),
}


@pytest.mark.parametrize("name", PLACES)
async def test_esc_goes_one_step_back_and_ends_nothing_that_is_not_in_focus(name: str):
    place = PLACES[name]
    stage = place.stage()
    async with stage.app.run_test(size=(110, 34)) as pilot:
        stage.play(*place.events)
        await stage.caught_up(pilot)
        await place.enter(pilot, stage)
        await pilot.press("escape")
        await until(pilot, lambda: place.after(stage))
        await pilot.pause()
        assert stage.link.commands == place.sends
        assert decisions(stage) == []


async def test_esc_on_the_first_screen_changes_nothing(tmp_path: Path):
    stage = Stage(start=PlayedStart(tmp_path))
    async with stage.app.run_test(size=(110, 34)) as pilot:
        await pilot.press("escape")
        await shows(pilot, "nothing is running")
        assert in_box(stage) and stage.app.return_value is None
