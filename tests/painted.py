"""What an app drew on its screen, and waits for it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from textual.app import App
from textual.pilot import Pilot
from textual.strip import Strip

POLL_SECONDS = 0.01


def strips(app: App[Any]) -> list[Strip]:
    """Return the rows of the screen as they go to the terminal."""
    # textual has no public way to read what it composed, short of an SVG
    return app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]


def painted(app: App[Any]) -> str:
    """Return the text on the screen."""
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips(app))


async def until(pilot: Pilot[Any], fact: Callable[[], object], seconds: float = 30.0) -> None:
    """Wait until the fact holds. Raises AssertionError with the screen's text if it does not in that time."""
    end = time.monotonic() + seconds
    while not fact():
        if time.monotonic() > end:
            raise AssertionError(f"it did not happen in {seconds} s; the screen:\n{painted(pilot.app)}")
        await pilot.pause(POLL_SECONDS)


async def shows(pilot: Pilot[Any], text: str) -> str:
    """Wait until the text is on the screen, and return all of the screen."""
    await until(pilot, lambda: text in painted(pilot.app))
    return painted(pilot.app)
