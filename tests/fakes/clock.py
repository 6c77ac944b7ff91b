"""Time that moves when a test says so."""

from __future__ import annotations

import asyncio
import heapq
import itertools


class ManualClock:
    """Implements `protocol.Clock`. `advance` wakes the sleepers in their order and lets them run."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self._now, self._monotonic = now, 1000.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = itertools.count()
        self.slept: list[float] = []
        """Every sleep that was asked for, seconds."""
        self._asked = asyncio.Event()

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    @property
    def sleeping(self) -> int:
        return sum(not future.done() for _, _, future in self._sleepers)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self._asked.set()
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._monotonic + seconds, next(self._order), future))
        await future

    def tick(self, seconds: float) -> None:
        """Time passes and whoever is due is woken, to run when the loop gets to it."""
        self._move_to(self._monotonic + seconds)

    async def advance(self, seconds: float) -> None:
        """Time passes; each sleeper runs at its own moment, also those that go to sleep on the way."""
        end = self._monotonic + seconds
        await self._settle()
        while self._sleepers and self._sleepers[0][0] <= end:
            self._move_to(max(self._sleepers[0][0], self._monotonic))
            await self._settle()
        self._move_to(end)
        await self._settle()

    async def until_sleeping(self, count: int = 1) -> None:
        """So many tasks have gone to sleep."""
        while self.sleeping < count:
            await self.until_asked(len(self.slept) + 1)

    async def until_asked(self, times: int) -> None:
        """Wait until that many sleeps were asked for."""
        while len(self.slept) < times:
            self._asked.clear()
            await self._asked.wait()

    def _move_to(self, moment: float) -> None:
        self._now += moment - self._monotonic
        self._monotonic = moment
        while self._sleepers and self._sleepers[0][0] <= moment:
            _, _, future = heapq.heappop(self._sleepers)
            if not future.done():
                future.set_result(None)

    async def _settle(self) -> None:
        for _ in range(20):
            await asyncio.sleep(0)


class RunningClock(ManualClock):
    """Sleeps take no time at all: the clock jumps to their end."""

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self._move_to(self._monotonic + max(0.0, seconds))
        await asyncio.sleep(0)
