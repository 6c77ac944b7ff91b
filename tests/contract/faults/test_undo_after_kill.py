"""Nothing that a command had changed when its runner was killed is in the workspace, by real processes."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

from fakes.paused_command import PausedCommand
from fakes.project import FIX_ADD, changed_files
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import call

from rundry.agent import Session, Undo


async def test_after_kill_nine_in_a_command_nothing_of_it_is_there_and_an_undo_leaves_the_edit_before(
    home: Home, project: Path
):
    held = PausedCommand()
    slow = call("run_command", command=f"echo x > NOTES.md; rm tests/test_core.py; touch ran; {held.line}")
    done = call("write_file", path="done", content="yes")
    with ScriptedServer([FIX_ADD, slow, done]) as server:
        argv = ["--headless", "--json", "--gate", "auto", "--until", "test -f done", "--guard", "none"]
        with home.start("run", "go", *argv, "--model", "fake", "--api-base", server.base_url, cwd=project) as running:
            await asyncio.to_thread(held.wait)
            running.signal(signal.SIGKILL)
            running.finish()
        assert changed_files(project) == ["calc/core.py"]
        ran = home.run("resume", "--headless", "--json", cwd=project)
    assert ran.exit_code == 0, ran
    assert changed_files(project) == ["calc/core.py", "done"]
    session = Session.attach(home.journals()[0])
    session.put_without_runner(Undo(confirmed=["done"]))
    await _until(lambda: any(type(stamped.event).__name__ == "CommandTaken" for stamped in session.new_events()))
    session.close()
    assert changed_files(project) == ["calc/core.py"], "the edit before them stands"


async def _until(enough):
    async with asyncio.timeout(60):
        while not enough():
            await asyncio.sleep(0.02)
