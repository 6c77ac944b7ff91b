"""Draws the README's pictures from a real run of the demo: `.venv/bin/python docs/pictures/draw.py [FOLDER]`.

Writes streaming, gate and ended as SVG, at 120x40 dark; with --light also in light, with --all also at 80x24.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")

from sizes import asked_for

from rundry.agent import Session, ViewState
from rundry.tui.app.app import RundryApp
from rundry.tui.control.run_controller import RunController
from rundry.tui.start.new_run import Setup, demo_flags


async def draw(target: Path, size: tuple[int, int], theme: str, suffix: str) -> None:
    """One demo run, approved key by key, photographed on the way."""
    with tempfile.TemporaryDirectory() as folder:
        task, flags = demo_flags({"cwd": str(Path(folder) / "project"), "runs_dir": folder})
        setup = Setup(flags, headless=False)
        controller = RunController(Session.new(Path(folder) / "runner.log"), setup)
        controller.begin(task)
        app = RundryApp(controller, theme=theme)
        async with app.run_test(size=size) as pilot:

            async def until(fact: Callable[[ViewState], bool]) -> None:
                for _ in range(1200):
                    if fact(controller.state):
                        return
                    await pilot.pause(0.05)
                raise TimeoutError(f"the demo did not get there: {controller.state.phase}")

            def save(name: str) -> None:
                svg = app.export_screenshot(title="rundry demo")
                (target / f"{name}{suffix}.svg").write_text(svg)

            await until(lambda state: bool(state.proposals))
            await pilot.pause(1.2)
            save("gate")
            await pilot.press("end", "end", "y")
            await until(lambda state: (state.step or 0) >= 3 and state.activity == "streaming")
            await pilot.pause(0.3)
            save("streaming")
            while controller.state.outcome is None:
                await pilot.pause(0.3)
                if controller.state.proposals:
                    await pilot.pause(1.0)
                    await pilot.press("end", "end", "y")
                    await until(lambda state: not state.proposals)
            await pilot.pause(1.0)
            save("ended")
            app.exit()
        controller.link.close()


async def main() -> None:
    """All pictures that were asked for."""
    for one in asked_for():
        await draw(*one)


if __name__ == "__main__":
    asyncio.run(main())
