"""Runs that really ran, on a scripted model: watched after the end, replayed, handed over, chosen again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fakes.in_process.driven import Driven
from fakes.models.model import ScriptedModel
from fakes.pressing import press
from fakes.project import FIX_ADD, make_project
from fakes.turns import call
from painted import shows, until
from textual.pilot import Pilot

from rundry.agent import Budget, GateMode, Session
from rundry.tui.app.app import RundryApp
from rundry.tui.control.run_controller import RunController

from .scene import Factory, Scene

CHECK = "python3 -m unittest -q"


async def handed_over(folder: Path) -> Path:
    """The journal of a run that fixes one of two bugs, reads the same file, and is handed over."""
    project, runs = folder / "calc", folder / "runs"
    project.mkdir()
    runs.mkdir(mode=0o700)
    make_project(project)
    turns = [call("read_file", path="calc/core.py"), FIX_ADD, call("run_command", command="make test")]
    model = ScriptedModel(turns, then=call("read_file", path="tests/test_core.py"), name="ollama_chat/qwen3:8b")
    run = Driven(
        runs, project, model, task="turn the suite green", until=[CHECK], budget=Budget(steps=40, seconds=3600),
        gate=GateMode.AUTO, on_stall="handoff",
    )  # fmt: skip
    await run.run()
    return run.path


def _watched(*keys: str, then: str = "") -> Factory:
    @asynccontextmanager
    async def scene(folder: Path) -> AsyncIterator[Scene]:
        controller = RunController(Session.attach(await handed_over(folder)))
        app = RundryApp(controller)

        async def reach(pilot: Pilot[object]) -> None:
            await until(pilot, lambda: controller.state.outcome is not None)
            await shows(pilot, "qwen3:8b")
            await press(pilot, *keys)
            if then:
                await shows(pilot, then)

        yield Scene(app, reach)  # type: ignore[arg-type]
        controller.link.close()

    return scene


SCENES = {
    "watch-handed-off": _watched(),
    "hand-off": _watched("alt+h"),
    "replay": _watched("f11", "space", "home"),
    "sessions": _watched("f3", then="turn the suite green"),
    "undo": _watched("f12"),
    "changes": _watched("alt+d", then="1 changed file"),
    "rewind": _watched(*"/rewind", "enter", then="Rewind to before"),
    "rewind-diffs": _watched(*"/rewind", "enter", "enter", then="restores 1 file"),
    "commit": _watched(*"/commit", "enter", then="Commit 1 file"),
    "spend": _watched(*"/spend", "enter"),
}
