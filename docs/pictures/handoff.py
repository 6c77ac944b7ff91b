"""Draws the README's picture of a hand-off from a real run: `.venv/bin/python docs/pictures/handoff.py [FOLDER]`.

A small scripted model tries to repair a suite and goes in circles; the page is what its journal then holds. At 120x40
dark; with --light also in light, with --all also at 80x24.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")
sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from fakes.in_process.driven import Driven
from fakes.models.model import ScriptedModel
from fakes.project import FIX_ADD, make_project
from fakes.turns import call

from rundry.agent import Budget, GateMode, Session
from rundry.tui.app.app import RundryApp
from rundry.tui.control.run_controller import RunController

CHECK = "python3 -m unittest -q"


async def hand_over(folder: Path) -> Driven:
    """A run that fixes one of two bugs, then reads the same file until it is handed over."""
    project, runs = folder / "calc", folder / "runs"
    project.mkdir()
    runs.mkdir(mode=0o700)
    make_project(project)
    turns = [call("read_file", path="calc/core.py"), FIX_ADD, call("run_command", command="make test")]
    model = ScriptedModel(turns, then=call("read_file", path="tests/test_core.py"), name="ollama_chat/qwen3:8b")
    run = Driven(
        runs, project, model, task="turn the suite green", until=[CHECK], budget=Budget(steps=40), gate=GateMode.AUTO,
        on_stall="handoff",
    )  # fmt: skip
    await run.run()
    return run


async def draw(path: Path, target: Path, size: tuple[int, int], theme: str, suffix: str) -> None:
    """The page, opened with its key."""
    controller = RunController(Session.attach(path))
    app = RundryApp(controller, theme=theme)
    async with app.run_test(size=size) as pilot:
        while controller.state.outcome is None:
            await pilot.pause(0.05)
        await pilot.press("alt+h")
        await pilot.pause(0.5)
        svg = app.export_screenshot(title="rundry")
        (target / f"handoff{suffix}.svg").write_text(svg.replace(str(path.parents[1]), "/home/me/project"))
    controller.link.close()


async def main() -> None:
    """One run, photographed."""
    names = [word for word in sys.argv[1:] if not word.startswith("-")]
    target = Path(names[0]) if names else Path(__file__).parent
    with tempfile.TemporaryDirectory() as folder:
        run = await hand_over(Path(folder))
        await draw(run.path, target, (120, 40), "dark", "")
        if "--light" in sys.argv or "--all" in sys.argv:
            await draw(run.path, target, (120, 40), "light", "-light")
        if "--all" in sys.argv:
            await draw(run.path, target, (80, 24), "dark", "-80")
            await draw(run.path, target, (80, 24), "light", "-light-80")


if __name__ == "__main__":
    asyncio.run(main())
