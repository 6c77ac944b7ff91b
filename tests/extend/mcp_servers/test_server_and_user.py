"""A server that may write changes a file, and the user changes the same file afterwards (docs/decisions/0039)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fakes.project import changed_files, git
from fakes.turns import call, finish
from run.person.undoing import take_back

from rundry.agent.protocol import GateMode, Rule, Say, Undo

from .conftest import Run, results, server

WRITE = call("h__write", text="NOTES.md=by the server\n")
MAKE = call("h__write", text="made.txt=by the server\n")
END = [call("read_file", path="calc/core.py"), finish("done", "calc/core.py")]
ALLOWED: dict[str, Any] = {"gate": GateMode.AUTO, "rules": [Rule(verdict="allow", tool="h__*")]}


def by_user(project: Path, *names: str):
    """Save the files as the user's when the server has written, once as an editor does, by a rename."""

    def save(_: dict[str, Any]) -> Say:
        for name in names:
            aside = project / f"{name}.new"
            aside.write_text("by the user\n")
            aside.rename(project / name)
        return Say(text="")

    return save


async def test_what_the_user_wrote_afterwards_stays_also_after_an_undo(drive: Run, project: Path):
    run = drive([server(write=True)], [WRITE, MAKE, *END], **ALLOWED)
    run.on("tool_finished", by_user(project, "NOTES.md", "made.txt"), tool="h__write", nth=2)
    await run.run()
    assert (project / "NOTES.md").read_text() == (project / "made.txt").read_text() == "by the user\n", run.story()
    await take_back(run, Undo(changes=2))
    assert (project / "NOTES.md").read_text() == (project / "made.txt").read_text() == "by the user\n"


async def test_a_command_after_it_sees_the_users_text_and_changes_that(drive: Run, project: Path):
    run = drive(
        [server(write=True)], [WRITE, call("run_command", command="cat NOTES.md; echo x >> NOTES.md"), *END], **ALLOWED
    )
    run.on("tool_finished", by_user(project, "NOTES.md"), tool="h__write")
    await run.run()
    assert "by the user" in results(run)[1]["result"], run.story()
    assert (project / "NOTES.md").read_text() == "by the user\nx\n"
    await take_back(run, Undo(), Undo())
    assert (project / "NOTES.md").read_text() == "by the user\n"


async def test_a_server_that_may_not_write_changes_nothing_also_after_the_user(drive: Run, project: Path):
    before = git(project, "rev-parse", "HEAD")
    run = drive([server()], [WRITE, MAKE, WRITE, *END], **ALLOWED)
    run.on("tool_finished", by_user(project, "NOTES.md"), tool="h__write", nth=2)
    await run.run()
    assert (project / "NOTES.md").read_text() == "by the user\n" and changed_files(project) == ["NOTES.md"], run.story()
    assert git(project, "rev-parse", "HEAD") == before and all("Read-only" in one["result"] for one in results(run)[:3])
