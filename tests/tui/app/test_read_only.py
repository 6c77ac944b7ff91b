"""What a view offers that only watches a run, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.in_process.driven import Driven
from fakes.models.model import ScriptedModel
from fakes.played_events import started
from fakes.pressing import press
from fakes.screens import Stage
from fakes.turns import edit, finish
from fakes.views.board_screen import three
from fakes.views.gate_stage import GateStage
from painted import painted, shows, until

from rundry.agent import (
    HandoffOpened,
    HandoffRecord,
    LoopKind,
    Paused,
    Queued,
    Reason,
    RunEnded,
    Session,
    Sleeping,
    StepStarted,
)
from rundry.tui.app.app import RundryApp
from rundry.tui.control.run_controller import RunController
from rundry.tui.control.run_link import READ_ONLY
from rundry.tui.keys.action import Action
from rundry.tui.keys.lookup import ACTIONS, READ_ONLY_ACTIONS, shown_key
from rundry.tui.pages.changed_files_page import ChangesScreen
from rundry.tui.pages.handoff_page import HandoffPage
from rundry.tui.web.read_only import ReadOnlyLink

REFUSED = [action for action in ACTIONS if action.name not in READ_ONLY_ACTIONS]
SHOWN = [action for action in ACTIONS if action.name in READ_ONLY_ACTIONS]


def named(actions: list[Action]) -> set[str]:
    return {f"{shown_key(action.keys)}  {action.label}" for action in actions if action.keys}


def watched(*events: object) -> Stage:
    stage = Stage()
    stage.controller.is_read_only = True
    stage.play(started(), *events)
    return stage


@pytest.fixture
async def ended(tmp_path: Path) -> Driven:
    """A run that made an edit and ended."""
    work, runs = tmp_path / "work", tmp_path / "runs"
    work.mkdir()
    runs.mkdir(mode=0o700)
    (work / "a.txt").write_text("one\n")
    turns = [edit("a.txt", "one", "ONE"), finish("all is well", "a.txt:1")]
    run = Driven(runs, work, ScriptedModel(turns), loop=LoopKind.GOAL)
    await run.run()
    return run


@pytest.mark.parametrize("way", ["d", "alt+d", "/changes"])
async def test_the_changed_files_open_in_a_view_that_only_watches_and_no_key_undoes_them(ended, way: str):
    controller = RunController(ReadOnlyLink(Session.attach(ended.path)))
    controller.is_read_only = True
    app = RundryApp(controller)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "d changed files")
        if way == "d":
            await press(pilot, "f2")
        await press(pilot, *([*way, "enter"] if way.startswith("/") else [way]))
        await until(pilot, lambda: isinstance(app.screen, ChangesScreen))
        assert "undo" not in await shows(pilot, "ONE")
        await press(pilot, "u", "u", "U", "U")
        assert "undo" not in painted(app)
        await press(pilot, "escape")
        assert not isinstance(app.screen, ChangesScreen)
    controller.link.close()
    assert (Path(ended.spec.workspace) / "a.txt").read_text() == "ONE\n"


async def test_the_end_of_a_run_that_is_only_watched_offers_what_the_view_can_do(ended):
    controller = RunController(ReadOnlyLink(Session.attach(ended.path)))
    controller.is_read_only = True
    app = RundryApp(controller)
    async with app.run_test(size=(120, 40)) as pilot:
        text = await shows(pilot, "d changed files")
        assert not [word for word in ("undo", "export", "commit", "next task", "type the next") if word in text]
    controller.link.close()


async def test_the_help_of_a_view_that_only_watches_names_no_action_that_it_refuses():
    stage = watched()
    async with stage.app.run_test(size=(120, 200)) as pilot:
        await shows(pilot, "this view only shows the run")
        await pilot.press("f1")
        text = await shows(pilot, "Find text")
        rows = [line.strip() for line in text.splitlines()]
        assert not [
            name for name in named(REFUSED) - named(SHOWN) if any(row.partition(":")[0] == name for row in rows)
        ]
        typed = {word for row in rows for word in row.split() if word.startswith("/")}
        assert not typed & {f"/{action.slash}" for action in REFUSED if action.typed}
        assert "/changes" in typed
        for heading in ("Before a commit", "In the list of sessions", "Before leaving", "insert a line", "add a file"):
            assert heading not in text


async def test_the_palette_and_the_suggestions_of_a_view_that_only_watches_leave_out_what_it_refuses():
    stage = watched(StepStarted(number=1))
    async with stage.app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "this view only shows the run")
        offered = {command.title for command in stage.app.get_system_commands(stage.screen)}
        assert offered and not offered & {action.label for action in REFUSED}
        await press(pilot, "/", "s")
        assert "/spend" in stage.text() and "/stop" not in stage.text() and "/step" not in stage.text()
        await press(pilot, "ctrl+u", "@")
        assert not stage.screen.message.suggestions.display


async def test_no_key_of_the_gate_decides_or_edits_in_a_view_that_only_watches(tmp_path: Path):
    stage = GateStage(tmp_path)
    stage.controller.is_read_only = True
    stage.play(started())
    async with stage.app.run_test(size=(120, 40)) as pilot:
        await stage.opened(pilot, stage.edit())
        for key in ("y", "n", "e", "E", "A", "a", "tab", "space", "s", "minus"):
            stage.screen.gate.say("")
            await press(pilot, key)
            await shows(pilot, READ_ONLY)
        assert not stage.link.commands
        assert stage.screen.gate.editing is None
        await press(pilot, "i")
        await shows(pilot, "edits wait in mode ask")
        await pilot.press("ctrl+z", "alt+w", "f8")
        assert not stage.link.commands
    stage.journal.close()


@pytest.mark.parametrize(
    ("events", "shown"),
    [
        ([Sleeping(seconds=1500.0, why="CI takes ten minutes", asked=1500.0)], "CI takes ten minutes"),
        ([StepStarted(number=1), Queued(queued_id=1, text="also the docs")], "also the docs"),
        ([Paused()], "paused"),
        ([RunEnded(reason=Reason.BUDGET, detail="cost: 0.5 of 0.5", complete=False, exit_code=3)], "cost: 0.5 of 0.5"),
    ],
)
async def test_the_main_screen_offers_no_key_that_a_view_that_only_watches_refuses(events: list[object], shown: str):
    stage = watched(*events)
    async with stage.app.run_test(size=(120, 40)) as pilot:
        text = await shows(pilot, shown)
        for word in ("wake", "edit", "steer", "resume", "raise", "continue", "pause", "stop"):
            assert word not in text.replace("paused", ""), word
        assert not stage.link.commands


async def test_a_lost_runner_is_reported_without_a_key_that_resumes_it():
    stage = watched(StepStarted(number=1))
    stage.link.state = "gone"
    async with stage.app.run_test(size=(120, 40)) as pilot:
        text = await shows(pilot, "The runner is gone")
        assert "rundry resume r1 resumes it" in text and "F4" not in text


async def test_a_paused_board_names_no_key_in_a_view_that_only_watches():
    stage = three()
    stage.controller.is_read_only = True
    stage.play(Paused())
    async with stage.app.run_test(size=(120, 32)) as pilot:
        text = await shows(pilot, "no new work starts until it is resumed")
        assert "F4" not in text
        await pilot.press("f2")
        await until(pilot, lambda: stage.board.has_focus)
        keys = stage.text().splitlines()[-1]
        assert "filter" in keys
        assert not [word for word in ("confirm", "refute", "send back", "merge", "editor") if word in keys]


async def test_the_page_of_a_hand_off_has_no_key_to_resume_in_a_view_that_only_watches():
    record = HandoffRecord(task="fix it", last_actions=[])
    stage = watched(HandoffOpened(reason="asked", suggested_action="Look at it.", record=record))
    async with stage.app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "this view only shows the run")
        await pilot.press("alt+h")
        await until(pilot, lambda: isinstance(stage.app.screen, HandoffPage))
        text = await shows(pilot, "copy as Markdown")
        assert "resume with hint" not in text
        await pilot.press("r")
        assert isinstance(stage.app.screen, HandoffPage)
        assert not stage.screen.message.box.text
