"""A run seen again: the state at any point, and time in it (docs/requirements.md 9.8)."""

from __future__ import annotations

import random
from dataclasses import fields
from pathlib import Path
from typing import Any

from fakes.played_events import proposal, spec, started
from fakes.screens import Stage
from painted import painted, shows, until

from rundry.agent import (
    CheckFinished,
    CheckStarted,
    Event,
    Journal,
    ProposalDecided,
    Queued,
    Reason,
    ReplyFinished,
    RunEnded,
    RunResumed,
    Said,
    Session,
    StepFinished,
    StepStarted,
    TextArrived,
    ToolCalled,
    ToolFinished,
    ViewState,
    reduce_all,
)
from rundry.tui.app.app import RundryApp
from rundry.tui.app.main_screen import MainScreen
from rundry.tui.control.run_controller import RunController
from rundry.tui.pages.replay.player import Player
from rundry.tui.pages.replay.replay_page import ReplayScreen
from rundry.tui.pages.replay.timeline import Timeline

ENDED = RunEnded(reason=Reason.BUDGET, detail="step budget: 9 of 9", complete=False, exit_code=3)


def step(number: int) -> list[Event]:
    """One step in which everything that a block can live through happens."""
    call = f"c{number}"
    opened = proposal(number, call_id=call)
    return [
        StepStarted(number=number),
        *[TextArrived(text=f"word {n} ") for n in range(4)],
        Queued(queued_id=number, text=f"later {number}"),
        ReplyFinished(finish="tool_calls", calls=1),
        ToolCalled(call_id=call, tool="run_command", arguments={"command": "ls"}),
        opened,
        ProposalDecided(proposal_id=opened.proposal_id, decision="approve", by="person"),
        ToolFinished(call_id=call, tool="run_command", ok=True, result="a\nb"),
        Said(text=f"later {number}", queued_id=number),
        CheckStarted(command="pytest"),
        CheckFinished(command="pytest", passed=False, exit_code=1, timed_out=False, failing=3, output="x"),
        StepFinished(number=number, seconds=1.0),
    ]


def recorded(folder: Path, steps: int, apart: float = 1.0) -> Journal:
    """Record a run of `steps` steps whose events are `apart` seconds apart."""
    journal = Journal.create(folder / "r1.db", spec())
    clock = iter(range(10**9))
    journal.now = lambda: 1000.0 + next(clock) * apart
    with journal.transaction():
        journal.append(started())
        for number in range(1, steps + 1):
            for event in step(number):
                journal.append(event, step=number)
        journal.append(RunResumed(run_id="r1", from_seq=1))
        journal.append(ENDED)
    return journal


def told(state: ViewState) -> dict[str, Any]:
    """All that a view shows; not what it has drawn of it."""
    return {each.name: getattr(state, each.name) for each in fields(state) if each.name != "changed_from"}


def folded(journal: Journal, seq: int) -> ViewState:
    state = ViewState()
    reduce_all(state, journal.read(0, seq))
    return state


def test_the_state_at_any_point_is_the_fold_up_to_there_however_one_came_there(tmp_path: Path):
    journal = recorded(tmp_path, steps=40)
    reel, pick = Timeline(journal, every=32), random.Random(4)
    reel.go_to(reel.last)
    for seq in [0, 1, reel.last, *(pick.randrange(reel.last) for _ in range(60))]:
        assert told(reel.go_to(seq)) == told(folded(journal, seq) if seq else ViewState()), seq
    journal.close()


def test_steps_are_gone_through_one_by_one(tmp_path: Path):
    journal = recorded(tmp_path, steps=3)
    reel = Timeline(journal)
    seen: list[int | None] = []
    while reel.position < reel.last:
        seen.append(reel.go_to(reel.mark_after(reel.position)).step)
    assert seen == [1, 2, 3, 3]
    back: list[int | None] = []
    while reel.position:
        back.append(reel.go_to(reel.mark_before(reel.position)).step)
    assert back == [3, 2, 1, None]
    journal.close()


def test_events_come_as_far_apart_as_they_did_and_long_silences_are_cut(tmp_path: Path):
    journal = recorded(tmp_path, steps=2, apart=1.0)
    player = Player(Timeline(journal))
    assert player.advance(0.5), "the first event stands there at once"
    assert player.timeline.position == 1
    player.advance(1.0)
    assert player.timeline.position == 2
    player.speed = 4
    player.advance(1.0)
    assert player.timeline.position == 6
    player.toggle()
    assert not player.advance(50.0)
    player.toggle()
    player.speed = 64
    while not player.is_at_end:
        player.advance(1.0)
    assert player.timeline.state.outcome == ENDED
    assert not player.advance(1.0)
    assert not player.playing
    player.toggle()
    assert player.playing
    assert player.timeline.position == 0
    journal.close()
    hours = recorded(tmp_path / "hours", steps=1, apart=3600.0)
    slow = Player(Timeline(hours))
    slow.advance(0.0)
    slow.advance(2.0)
    assert slow.timeline.position == 2, "an hour of silence takes two seconds"
    hours.close()


async def test_after_a_limit_the_key_fills_in_one_with_room_above_it(tmp_path: Path):
    recorded(tmp_path, steps=2).close()
    app = RundryApp(RunController(Session.attach(tmp_path / "r1.db")))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert "raise limit" in painted(app)
        await pilot.press("f6")
        await pilot.pause()
        assert "› /limit steps 60" in painted(app)


async def test_the_scrubber_goes_to_any_step_and_leaving_shows_the_end(tmp_path: Path):
    recorded(tmp_path, steps=12).close()
    app = RundryApp(RunController(Session.attach(tmp_path / "r1.db")))
    async with app.run_test(size=(100, 24)) as pilot:
        await shows(pilot, "step budget")
        await pilot.press("f11")
        await until(pilot, lambda: isinstance(app.screen, ReplayScreen) and app.screen.is_mounted)
        replay = app.screen
        assert isinstance(replay, ReplayScreen)
        await pilot.press("space", "right", "right", "right")
        await shows(pilot, "step 3/12")
        assert "step budget" not in painted(app)
        await pilot.press("4")
        assert (replay.player.speed, replay.player.playing) == (64, True)
        await pilot.press("space", "end")
        await until(pilot, lambda: f"event {replay.player.timeline.last}/{replay.player.timeline.last}" in painted(app))
        await shows(pilot, "step budget")
        await pilot.press("left", "left")
        await shows(pilot, "step 11/12")
        await pilot.press("home")
        await shows(pilot, "event 0/")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, MainScreen))
        await shows(pilot, "step budget")
    journal = Journal.open(tmp_path / "r1.db")
    assert journal.inbox.untaken() == [], "a replay changes nothing"
    journal.close()


async def test_a_replay_of_nothing_and_a_speed_that_there_is_not_are_reported():
    stage = Stage()
    async with stage.app.run_test(size=(100, 24)) as pilot:
        await until(pilot, lambda: isinstance(stage.app.screen, MainScreen) and stage.screen.is_mounted)
        stage.screen.action_do("replay", "")
        await shows(pilot, "nothing to replay")
        stage.screen.action_do("replay", "3x")
        await shows(pilot, "1x, 4x, 16x, 64x")
