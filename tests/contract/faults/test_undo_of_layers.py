"""`rundry ctl RUN undo` after a headless run in layers takes back what its command did, and nothing of the user's."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.in_process.driven import Driven
from fakes.layered_folder import layered_folder
from fakes.models.model import ScriptedModel
from fakes.project import make_project
from fakes.rundry import Home, Ran
from fakes.turns import call, say
from fakes.users_work import all_of
from step.test_layered_commands import begun


class Place:
    """A project, a home, and headless runs in layers."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = Home(folder), make_project(folder / "project")
        self.home.runs.mkdir(mode=0o700)

    def run(self, command: str) -> Driven:
        model = ScriptedModel([call("run_command", command=command), say("done")])
        return Driven(self.home.runs, self.project, model)

    def undo(self, run: Driven, *words: str) -> Ran:
        return self.home.run("ctl", str(run.path), "undo", *words, cwd=self.project)


@pytest.fixture
async def place(pytestconfig: pytest.Config) -> AsyncIterator[Place]:
    async with layered_folder(pytestconfig.rootpath) as folder:
        (folder / "project").mkdir()
        yield Place(folder)


async def test_what_the_user_did_while_the_command_ran_stays(place: Place):
    project = place.project
    (project / "to_delete.txt").write_text("of the user\n")
    run = place.run("touch first.txt; sleep 2.0553; echo x > made.txt; echo more >> NOTES.md")
    notes = (project / "NOTES.md").read_text()

    async def user() -> None:
        await begun("2.0553")
        for name in ("one.txt", "two.txt", "calc/three.py"):
            (project / name).write_text("by the user\n")
        (project / "calc/core.py").write_text("# by the user\n")
        (project / "to_delete.txt").unlink()

    async with asyncio.TaskGroup() as group:
        group.create_task(user())
        await run.run()
    assert (project / "first.txt").exists() and (project / "made.txt").exists(), run.story()
    done = place.undo(run)
    assert done.exit_code == 0, done
    assert not (project / "made.txt").exists() and not (project / "first.txt").exists()
    assert (project / "NOTES.md").read_text() == notes
    assert not (project / "to_delete.txt").exists() and (project / "calc/core.py").read_text() == "# by the user\n"
    assert all((project / name).read_text() == "by the user\n" for name in ("one.txt", "two.txt", "calc/three.py"))


async def test_a_file_whose_name_is_not_text_is_restored(place: Place):
    (place.project / os.fsdecode(b"caf\xe9.txt")).write_text("old\n")
    before = all_of(place.project)
    run = place.run(r"rm -- $(printf 'caf\351.txt'); echo x > $(printf 'new\376')")
    await run.run()
    assert all_of(place.project) != before
    done = place.undo(run)
    assert done.exit_code == 0, done
    assert all_of(place.project) == before
