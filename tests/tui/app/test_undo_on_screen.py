"""/undo on the real screen of a real run, which nobody drives any longer."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.in_process.driven import Driven
from fakes.in_process.layered_run import IDENTITY, git
from fakes.layered_folder import layered_folder
from fakes.models.model import ScriptedModel
from fakes.screens import Stage
from fakes.turns import call, edit, finish
from painted import painted, shows, until
from textual import events

from rundry.agent import LoopKind, Session, Undo
from rundry.tui.app.app import RundryApp
from rundry.tui.control.run_controller import RunController
from rundry.tui.pages.changed_files_page import ChangesScreen
from rundry.tui.pages.undo_page import UndoScreen

DONE = finish("all is well", "a.txt:1")


@pytest.fixture
async def ended(tmp_path: Path) -> AsyncIterator[Driven]:
    """A run that made an edit, ran a command without layers (no place for them) and ended. Git has the old files."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("one\n")
    (work / "b.txt").write_text("two\n")
    for words in (["init", "-q"], ["add", "."], [*IDENTITY, "commit", "-qm", "start"]):
        git(work, *words)
    (work / ".git/rundry").mkdir()
    (work / ".git/rundry").chmod(0o777)
    turns = [edit("a.txt", "one", "ONE"), call("run_command", command="echo 2 > b.txt; echo 3 > c.txt"), DONE]
    with tempfile.TemporaryDirectory(dir="/dev/shm") as runs:
        run = Driven(Path(runs), work, ScriptedModel(turns), loop=LoopKind.GOAL)
        await run.run()
        yield run


async def test_slash_undo_takes_the_newest_change_back_without_a_runner_and_the_run_stays_ended(ended):
    work = Path(ended.spec.workspace)
    controller = RunController(Session.attach(ended.path))
    app = RundryApp(controller)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: controller.state.outcome is not None)
        await _undo_all(pilot, "/undo")
        await shows(pilot, "noted the undo for the model")
        assert controller.status.phase == "ended"
    controller.link.close()
    assert (work / "b.txt").read_text() == "two\n" and not (work / "c.txt").exists()
    assert (work / "a.txt").read_text() == "ONE\n"


async def test_the_panel_of_the_end_counts_the_files_that_an_undo_leaves_changed(ended):
    controller = RunController(Session.attach(ended.path))
    app = RundryApp(controller)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "3 files changed +")
        await _undo_all(pilot, "/undo")
        await shows(pilot, "1 file changed +1 −1")
        assert "3 files changed +" not in painted(app)
        await pilot.press(*"/undo", "enter")
        await shows(pilot, "no files changed")
    controller.link.close()


async def test_several_changes_with_a_command_are_shown_file_by_file_and_only_the_key_undoes(ended):
    work = Path(ended.spec.workspace)
    controller = RunController(Session.attach(ended.path))
    app = RundryApp(controller)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: controller.state.outcome is not None)
        await pilot.press(*"/undo 5", "enter")
        await shows(pilot, "3 changed files")
        assert all(name in painted(app) for name in ("a.txt", "b.txt", "c.txt"))
        await pilot.press("u", "escape", "escape")
        assert not isinstance(app.screen, ChangesScreen)
        assert (work / "a.txt").read_text() == "ONE\n" and (work / "c.txt").exists()
        await _undo_all(pilot, "/undo step 1")
        await until(pilot, lambda: not (work / "c.txt").exists())
    controller.link.close()
    assert (work / "a.txt").read_text() == "one\n" and (work / "b.txt").read_text() == "two\n"


async def test_one_file_of_a_command_is_undone_and_the_other_stays(ended):
    work = Path(ended.spec.workspace)
    controller = RunController(Session.attach(ended.path))
    app = RundryApp(controller)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: controller.state.outcome is not None)
        await pilot.press(*"/undo", "enter")
        await shows(pilot, "2 changed files")
        await pilot.press("u", "u")
        await until(pilot, lambda: (work / "b.txt").read_text() == "two\n")
    controller.link.close()
    assert (work / "c.txt").read_text() == "3\n" and (work / "a.txt").read_text() == "ONE\n"


async def test_the_footer_offers_it_after_the_end_and_its_key_shows_the_files_first(ended):
    work = Path(ended.spec.workspace)
    controller = RunController(Session.attach(ended.path))
    app = RundryApp(controller)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: controller.state.outcome is not None and "F12 undo" in painted(app))
        await pilot.press("f12")
        await shows(pilot, "2 changed files")
        assert "b.txt" in painted(app) and "c.txt" in painted(app)
        await pilot.press("escape")
    controller.link.close()
    assert (work / "c.txt").exists()


async def test_arguments_without_a_meaning_are_refused_with_a_reason(ended):
    controller = RunController(Session.attach(ended.path))
    app = RundryApp(controller)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: controller.state.outcome is not None)
        for words in ("0", "all"):
            await pilot.press(*f"/undo {words}", "enter")
            await shows(pilot, f"/undo {words}: use /undo, /undo 3 or /undo step 7")
        controller.link.put_without_runner(Undo(step=9))
        await shows(pilot, "undo was refused: there is no step 9")
    controller.link.close()


async def test_a_file_that_someone_changed_since_is_named_without_unfolding(ended):
    controller = RunController(Session.attach(ended.path))
    app = RundryApp(controller)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: controller.state.outcome is not None)
        (Path(ended.spec.workspace) / "c.txt").write_text("mine\n")
        await _undo_all(pilot, "/undo")
        await shows(pilot, "c.txt: not undone, because someone changed it since")
    controller.link.close()


async def test_a_key_that_was_pressed_before_the_question_was_painted_undoes_nothing():
    stage, answers = Stage(), list[bool | None]()
    async with stage.app.run_test(size=(80, 24)) as pilot:
        early = events.Key("y", "y")
        await stage.app.push_screen(UndoScreen([], step=3), answers.append)
        await shows(pilot, "Restore the state before step 3")
        stage.app.screen.post_message(early)
        await pilot.pause()
        assert isinstance(stage.app.screen, UndoScreen) and answers == []
        await pilot.press("y")
        await until(pilot, lambda: answers == [True])


async def _undo_all(pilot, command: str) -> None:
    """Undo each file that the dialog shows, and close it."""
    await pilot.press(*command, "enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, ChangesScreen))
    await pilot.pause()
    await pilot.press("U", "U")
    await pilot.press("escape", "escape")


@pytest.fixture
async def layered(pytestconfig) -> AsyncIterator[Driven]:
    """An ended run whose command wrote into a layer."""
    async with layered_folder(pytestconfig.rootpath) as folder:
        work, runs = folder / "work", folder / "runs"
        work.mkdir()
        runs.mkdir(mode=0o700)
        (work / "a.txt").write_text("one\n")
        (work / "b.txt").write_text("two\n")
        command = "echo 2 > a.txt; rm b.txt; echo 3 > c.txt; mkdir only; for n in $(seq 30); do echo x > many$n; done"
        run = Driven(runs, work, ScriptedModel([call("run_command", command=command), DONE]), loop=LoopKind.GOAL)
        await run.run()
        yield run


async def test_the_question_names_what_a_command_in_a_layer_changed(layered):
    work = Path(layered.spec.workspace)
    (work / "theirs.txt").write_text("theirs\n")
    controller = RunController(Session.attach(layered.path))
    app = RundryApp(controller)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: controller.state.outcome is not None)
        await pilot.press(*"/undo", "enter")
        await shows(pilot, "Undo 1 change in 33 files?")
        assert all(name in painted(app) for name in ("a.txt", "b.txt", "c.txt", "more", "step 1"))
        assert "git ignores" not in painted(app)
        await pilot.press("y")
        await until(pilot, lambda: (work / "b.txt").exists())
    controller.link.close()
    assert sorted(path.name for path in work.iterdir()) == ["a.txt", "b.txt", "theirs.txt"]
    assert (work / "a.txt").read_text() == "one\n"
