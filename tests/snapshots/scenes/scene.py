"""A screen, and the way to it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from fakes.pressing import press
from fakes.screens import Stage
from painted import shows
from textual.app import App
from textual.pilot import Pilot

from rundry.agent import Budget, GateMode

Steps = Callable[[Pilot[object]], Awaitable[None]]
AGO = 605.0
"""Seconds since a played run began: far from the next minute, and from the next mark of its meter."""
BUDGET = Budget(steps=40, tokens=200_000, usd=0.5, seconds=3600)


@dataclass(frozen=True)
class Scene:
    """An app that has not started, and the keys and events that lead to the screen."""

    app: App[object]
    reach: Steps


Factory = Callable[[Path], AbstractAsyncContextManager[Scene]]


def staged(make: Callable[[Path], Stage], shown: str, *keys: str, then: str = "") -> Factory:
    """A scene on a played run: wait for `shown`, press the keys, wait for `then`."""

    @asynccontextmanager
    async def scene(folder: Path) -> AsyncIterator[Scene]:
        stage = make(folder)

        async def reach(pilot: Pilot[object]) -> None:
            await shows(pilot, shown)
            await press(pilot, *keys)
            if then:
                await shows(pilot, then)

        yield Scene(stage.app, reach)  # type: ignore[arg-type]
        if stage.link.journal is not None:
            stage.link.journal.close()

    return scene


def began(stage: Stage, ago: float = AGO) -> None:
    """Let the clock of a played run start `ago` seconds in the past."""
    stage.script.at = time.time() - ago


__all__ = ["AGO", "BUDGET", "Factory", "GateMode", "Scene", "Steps", "began", "staged"]
