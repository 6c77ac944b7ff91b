"""Lines about what a run without a screen waits for. Does not import textual."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from rundry.agent import ViewState, waiting_for

AT_SECONDS = (5.0, 15.0, 30.0, 60.0)
"""Seconds of a wait at which a line is printed; after the last one, a line each minute."""
_EVERY = 60.0
_LOOK_SECONDS = 1.0
Result = TypeVar("Result")


class WaitLines:
    """Has a line for a wait that is long, and further ones at growing intervals. A lock gets one immediately."""

    def __init__(self) -> None:
        self._since = 0.0
        self._due = AT_SECONDS[0]

    def due(self, state: ViewState, now: float) -> str | None:
        """Return the line that is due at the Unix time `now`."""
        wait = waiting_for(state)
        if wait is None:
            return None
        if wait.since != self._since:
            self._since, self._due = wait.since, 0.0 if wait.is_lock else AT_SECONDS[0]
        waited = now - wait.since
        if waited < self._due:
            return None
        self._due = next((at for at in AT_SECONDS if at > waited), waited - waited % _EVERY + _EVERY)
        return f"still {wait.words(now)}" if waited >= AT_SECONDS[0] else wait.words(now)


async def with_waits(work: Awaitable[Result], look: Callable[[float], None]) -> Result:
    """Return the result of the work; meanwhile call `look` with the Unix time each second."""
    looking = asyncio.ensure_future(_keep_looking(look))
    try:
        return await work
    finally:
        looking.cancel()
        with suppress(asyncio.CancelledError):
            await looking


async def _keep_looking(look: Callable[[float], None]) -> None:
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        look(time.time())
