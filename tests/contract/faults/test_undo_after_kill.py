"""What a command had changed when its runner was killed is undone after the resume, by real processes."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

from fakes.project import FIX_ADD, changed_files
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import call

from rundry.agent import Session, Undo


async def test_after_kill_nine_in_a_command_resume_and_undo_bring_all_back(home: Home, project: Path):
    slow = call("run_command", command="echo x > NOTES.md; rm tests/test_core.py; touch ran; sleep 600.5")
    done = call("write_file", path="done", content="yes")
    with ScriptedServer([FIX_ADD, slow, done]) as server:
        argv = ["--headless", "--json", "--gate", "auto", "--until", "test -f done", "--guard", "none"]
        with home.start("run", "go", *argv, "--model", "fake", "--api-base", server.base_url, cwd=project) as running:
            running.wait_event("snapshotted", step=None)
            await _until(lambda: (project / "ran").exists())
            running.signal(signal.SIGKILL)
            running.finish()
        ran = home.run("resume", "--headless", "--json", cwd=project)
    assert ran.exit_code == 0, ran
    assert changed_files(project) == ["NOTES.md", "calc/core.py", "done", "ran", "tests/test_core.py"]
    session = Session.attach(home.journals()[0])
    session.put_without_runner(Undo(changes=2, confirmed=["NOTES.md", "tests/test_core.py", "ran", "done"]))
    await _until(lambda: any(type(stamped.event).__name__ == "CommandTaken" for stamped in session.new_events()))
    session.close()
    assert changed_files(project) == ["calc/core.py"], "the edit before them stands"


async def _until(enough):
    async with asyncio.timeout(60):
        while not enough():
            await asyncio.sleep(0.02)
