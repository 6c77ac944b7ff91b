"""Locks whose holder is known, and the events about steps that wait for one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from ...protocol import LockAwaited, LockObtained

if TYPE_CHECKING:
    from ...state.recorder import Events

UNNOTICED_SECONDS = 0.5
"""Seconds of a wait that are not recorded."""


class LockEvents:
    """Records the waits for locks as events."""

    def __init__(self, events: Events) -> None:
        self._events = events

    def awaited(self, lock: str, holder: str) -> None:
        """Record that a step waits for a lock."""
        self._events.record(LockAwaited(lock=lock, holder=holder))

    def over(self, lock: str, seconds: float, *, obtained: bool) -> None:
        """Record that the wait ended."""
        self._events.record(LockObtained(lock=lock, seconds=seconds, obtained=obtained))


class WatchedLock:
    """A lock within the run. A wait for it that is not short is recorded with the name of the holder."""

    def __init__(self, name: str, events: Events) -> None:
        """`name`: what is locked, as in `waiting for the files of the run`."""
        self._name, self._events = name, LockEvents(events)
        self._lock = asyncio.Lock()
        self._holder = ""

    @asynccontextmanager
    async def held(self, holder: str) -> AsyncGenerator[None]:
        """Hold the lock in the block. `holder`: who holds it then, as in `held by an undo`."""
        await self._obtain()
        self._holder = holder
        try:
            yield
        finally:
            self._holder = ""
            self._lock.release()

    async def _obtain(self) -> None:
        loop = asyncio.get_running_loop()
        began, told = loop.time(), list[str]()

        def tell() -> None:
            told.append(self._holder)
            self._events.awaited(self._name, self._holder)

        timer = loop.call_later(UNNOTICED_SECONDS, tell) if self._lock.locked() else None
        obtained = False
        try:
            obtained = await self._lock.acquire()
        finally:
            if timer is not None:
                timer.cancel()
            if told:
                self._events.over(self._name, loop.time() - began, obtained=obtained)
