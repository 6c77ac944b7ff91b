"""Run several work orders in parallel, and return each result as soon as it is available."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ...protocol import Work, WorkResult


class Performer(Protocol):
    """Performs the work orders of a run, each in its own way."""

    async def perform(self, work: Work) -> WorkResult:
        """Perform one work order, and return its result."""
        ...


class Pool:
    """The running work orders of one run."""

    def __init__(self, performer: Performer) -> None:
        self._performer = performer
        self._tasks: dict[asyncio.Task[WorkResult], str | None] = {}
        self._has_result = asyncio.Event()
        self._is_requested = False

    @property
    def is_requested(self) -> bool:
        """Whether the loop was asked to decide again and has not done so yet."""
        return self._is_requested

    @property
    def busy(self) -> frozenset[str]:
        """Names of the running work orders."""
        return frozenset(name for name in self._tasks.values() if name is not None)

    def __len__(self) -> int:
        return len(self._tasks)

    def start(self, works: Sequence[Work]) -> None:
        """Start these work orders in parallel."""
        for work in works:
            task = asyncio.ensure_future(self._performer.perform(work))
            self._tasks[task] = work.work
            task.add_done_callback(lambda _: self._has_result.set())

    async def next(self, within: float | None = None) -> list[WorkResult]:
        """Wait until work has finished, and return its results.

        Returns an empty list after `within` seconds or after `ask_loop_again`. Raises what a work order raised.
        Cancelling this call cancels all work orders.
        """
        if not self._tasks:
            return []
        try:
            async with asyncio.timeout(within):
                return await self._wait_for_one()
        except TimeoutError:
            return []
        except BaseException:
            await self.cancel()
            raise

    async def _wait_for_one(self) -> list[WorkResult]:
        while True:
            await self._has_result.wait()
            self._has_result.clear()
            ended = self._take_finished()
            if ended or self._is_requested:  # otherwise the work that set the event was returned earlier
                self._is_requested = False
                return ended

    def ask_loop_again(self) -> None:
        """Make the loop decide again now."""
        self._is_requested = True
        self._has_result.set()

    def take_request(self) -> bool:
        """Return whether the loop was asked to decide again, and reset that."""
        was, self._is_requested = self._is_requested, False
        return was

    async def drain(self) -> list[WorkResult]:
        """Wait for all work orders, and return their results."""
        results: list[WorkResult] = []
        while self._tasks:
            results += await self.next()
        return results

    async def cancel(self) -> None:
        """Cancel all work orders, and wait until they have ended."""
        tasks = list(self._tasks)
        self._tasks.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _take_finished(self) -> list[WorkResult]:
        ended = [task for task in self._tasks if task.done()]
        for task in ended:
            del self._tasks[task]
        return [task.result() for task in ended]
