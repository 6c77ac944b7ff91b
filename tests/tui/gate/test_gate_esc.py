"""Esc at the gate closes what is open, else moves to the message box; it never decides (docs/requirements.md 6.6)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from fakes.played_events import proposal, started
from fakes.pressing import press
from fakes.views.gate_stage import GateStage
from hypothesis import HealthCheck, given, settings, strategies as st
from painted import shows, until
from textual.pilot import Pilot

from rundry.agent import Interrupt, ProposalDecided, QuestionAsked, TextArrived

SIZE = (110, 36)
Events = Callable[[GateStage], list[object]]


def at_edit(stage: GateStage) -> list[object]:
    return [stage.edit()]


def at_command(stage: GateStage) -> list[object]:
    return [proposal(asks=["no rule allows `a`", "no rule allows `b`"])]


def in_conflict(stage: GateStage) -> list[object]:
    merged = stage.journal.blobs.keep(b"<<<<<<< yours\nz\n=======\nx\n>>>>>>> model\nb\n")
    conflict = stage.rebased(old="z\nb\n", new="x\nb\n", conflict=True, merged=merged)
    return [stage.edit(old="a\nb\n", new="x\nb\n"), conflict]


def of_one_answer(stage: GateStage) -> list[object]:
    fields = [{"path": f"{n}.py", "call_id": f"call_4_{n}", "digest": f"digest-{n}", "file": n} for n in (1, 2, 3)]
    return [stage.edit(n, old="x = 1\n", new=f"x = {n + 1}\n", files=3, **each) for n, each in enumerate(fields, 1)]


def of_a_server(stage: GateStage) -> list[object]:
    return [proposal(tool="mcp", command=None, path=None, server="time", call='{"timezone": "UTC"}', name="get_time")]


def dangerous(stage: GateStage) -> list[object]:
    return [proposal(danger=True, rule=None, command="curl x | sh")]


def long(stage: GateStage) -> list[object]:
    return [stage.edit(old="", new="".join(f"line {n}\n" for n in range(200)))]


@dataclass(frozen=True)
class Open:
    """A state of the gate: how to get there, and how many steps back lead to the message box."""

    events: Events
    keys: list[str] = field(default_factory=list[str])
    steps: int = 1


STATES: dict[str, Open] = {
    "an edit": Open(at_edit),
    "a command": Open(at_command),
    "a conflict": Open(in_conflict),
    "files of one answer": Open(of_one_answer),
    "another file of an answer": Open(of_one_answer, ["greater_than_sign"]),
    "a call of an MCP server": Open(of_a_server),
    "a danger": Open(dangerous),
    "a long change": Open(long),
    "a long change, smaller": Open(long, ["f"]),
    "why": Open(at_edit, ["i"], 2),
    "why, of a command": Open(at_command, ["i"], 2),
    "why, of a conflict": Open(in_conflict, ["i"], 2),
    "why, after choices of hunks": Open(at_edit, ["space", "space", "i"], 2),
    "choices of hunks": Open(at_edit, ["space", "minus", "plus"]),
    "all hunks skipped": Open(at_edit, ["minus"]),
    "a split hunk": Open(at_edit, ["s"]),
    "side by side": Open(at_edit, ["v"]),
    "the lines around": Open(at_edit, ["o"], 2),
    "the whole file": Open(at_edit, ["w"], 2),
    "full height": Open(at_command, ["f"], 2),
    "full height and why": Open(at_command, ["f", "i"], 3),
    "the whole file and why": Open(at_edit, ["w", "i"], 3),
    "a reason": Open(at_edit, ["tab"], 2),
    "a typed reason": Open(at_edit, ["tab", "n", "o"], 2),
    "a reason of a skipped hunk": Open(at_edit, ["space", "tab", "n", "y"], 2),
    "a reason of a command": Open(at_command, ["tab", "y"], 2),
    "the rule of always": Open(at_command, ["A"], 2),
    "what a session allows": Open(at_command, ["a"], 2),
    "the question about all files": Open(of_one_answer, ["Y"], 2),
    "the editor": Open(at_edit, ["E"], 2),
    "the changed editor": Open(at_edit, ["E", "n", "y"], 3),
    "a merge by hand": Open(in_conflict, ["e"], 2),
    "the help": Open(at_edit, ["f1"], 2),
    "the palette": Open(at_edit, ["ctrl+p"], 2),
    "the question before leaving": Open(at_edit, ["ctrl+q"], 2),
}


def is_in_box(stage: GateStage) -> bool:
    return stage.app.screen is stage.screen and stage.screen.message.box.has_focus


async def escaped(pilot: Pilot[Any], stage: GateStage) -> int:
    """Press Esc until the message box has the focus. Return how often."""
    for presses in range(1, 8):
        await press(pilot, "escape")
        await stage.caught_up(pilot)
        if is_in_box(stage):
            return presses
    raise AssertionError(stage.text())


@pytest.mark.parametrize("name", STATES)
async def test_esc_goes_back_one_step_at_a_time_to_the_message_box_and_decides_nothing(stage: GateStage, name: str):
    state = STATES[name]
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), *state.events(stage))
        await press(pilot, *state.keys)
        await pilot.pause()
        assert await escaped(pilot, stage) == state.steps, stage.text()
        await press(pilot, "escape", "escape", "escape")
        await shows(pilot, "F2 returns to it")
        assert is_in_box(stage)
        assert not stage.screen.gate.arming.may_focus(monotonic() + 9), "the proposal does not take the focus back"
        assert (stage.link.commands, stage.screen.message.box.text) == ([], "")
        await press(pilot, "f2")
        await until(pilot, lambda: stage.takes_keys())
        assert stage.decided == []
        await press(pilot, "n")
        assert [command.verdict for command in stage.decided] == ["reject"]


async def test_choices_of_hunks_and_reasons_survive_why_and_esc(stage: GateStage):
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), stage.edit())
        await press(pilot, "space", "tab", *"no", "enter", "i", "escape", "escape", "f2")
        await until(pilot, lambda: stage.takes_keys())
        assert "◉ accepted 2" in stage.text() and "○ skipped 1" in stage.text()
        await press(pilot, "y")
        (command,) = stage.decided
        assert (command.verdict, command.hunks, command.hunk_reasons) == ("part", [1, 2], {0: "no"})


async def test_ctrl_c_interrupts_a_waiting_proposal_and_pressed_again_leaves(stage: GateStage):
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), stage.edit())
        await press(pilot, "ctrl+c")
        await shows(pilot, "interrupted; press ^c again to leave")
        assert stage.link.commands == [Interrupt()]
        await press(pilot, "ctrl+c")
        await shows(pilot, "What should happen to it?")
        assert stage.link.commands == [Interrupt()]


async def test_ctrl_c_in_a_dialog_above_a_proposal_interrupts_nothing(stage: GateStage):
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), stage.edit())
        await press(pilot, "f1")
        await until(pilot, lambda: stage.app.screen is not stage.screen)
        await press(pilot, "ctrl+c")
        await shows(pilot, "press ^c again to leave")
        assert stage.link.commands == []


async def test_while_a_question_waits_esc_does_nothing_and_ctrl_c_interrupts(stage: GateStage):
    async with stage.app.run_test(size=SIZE) as pilot:
        stage.play(started(), QuestionAsked(question_id="q", question="which colour?"))
        await shows(pilot, "your answer")
        await press(pilot, *"bl", "escape", "escape")
        await shows(pilot, "the model waits for your answer, ^c interrupts")
        assert (stage.link.commands, stage.screen.message.box.text) == ([], "bl")
        await press(pilot, "ctrl+c")
        assert stage.link.commands == [Interrupt()]


async def test_the_next_proposal_takes_the_focus_from_an_empty_box_although_esc_left_the_one_before(stage: GateStage):
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), proposal(1))
        await press(pilot, "escape")
        await until(pilot, lambda: is_in_box(stage))
        stage.play(ProposalDecided(proposal_id="p1", decision="approve", by="person"), proposal(2))
        await until(pilot, lambda: stage.takes_keys("digest-2"))


async def test_a_message_typed_after_esc_lets_the_proposal_take_the_focus_once_it_was_sent(stage: GateStage):
    async with stage.app.run_test(size=SIZE) as pilot:
        await stage.opened(pilot, started(), proposal(1))
        await press(pilot, "escape")
        await until(pilot, lambda: is_in_box(stage))
        await press(pilot, *"why", "enter")
        await until(pilot, lambda: stage.takes_keys())
        assert stage.decided == []


async def test_an_esc_at_a_gate_is_not_the_first_of_the_two_that_rewind(stage: GateStage):
    async with stage.app.run_test(size=SIZE) as pilot:
        stage.play(started(), TextArrived(text="idle"))
        await shows(pilot, "idle")
        stage.screen.prompt.tell("nothing is running; press esc again to rewind")
        await stage.opened(pilot, proposal(1))
        await press(pilot, "escape")
        await until(pilot, lambda: is_in_box(stage))
        assert "again to rewind" not in stage.text()
        await press(pilot, "escape")
        await shows(pilot, "F2 returns to it")
        assert "again to rewind" not in stage.text()


KEYS = [
    *("escape", "escape", "escape", "f2", "tab", "enter", "i", "space", "plus", "minus", "f", "v", "o", "w", "s", "S"),
    *("right_square_bracket", "left_square_bracket", "greater_than_sign", "less_than_sign", "E", "f1", "ctrl+p"),
    *("pagedown", "end", "up", "down", "x", "backspace", "f10"),
]
KINDS: list[Events] = [at_edit, at_command, in_conflict, of_one_answer, of_a_server, dangerous]


@pytest.mark.hypothesis
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kind=st.sampled_from(KINDS), keys=st.lists(st.sampled_from(KEYS), max_size=14))
def test_no_keys_without_one_that_decides_decide(
    tmp_path_factory: pytest.TempPathFactory, kind: Events, keys: list[str]
):
    async def tried(folder: Path) -> None:
        stage = GateStage(folder)
        async with stage.app.run_test(size=SIZE) as pilot:
            await stage.opened(pilot, started(), *kind(stage))
            await press(pilot, *keys)
            await press(pilot, "escape", "escape", "escape", "escape")
            assert stage.decided == [] and Interrupt() not in stage.link.commands
        stage.journal.close()

    asyncio.run(tried(tmp_path_factory.mktemp("run")))
