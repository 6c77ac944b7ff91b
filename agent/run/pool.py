"""Works that run at once: what one of them brings is handed over as soon as it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from ..protocol import Work, WorkResult


class Pool:
    """The works that are in flight."""

    def __init__(self, perform: Callable[[Work], Awaitable[WorkResult]]) -> None:
        self._perform = perform
        self._tasks: dict[asyncio.Task[WorkResult], str | None] = {}
        self._moved = asyncio.Event()
        self.is_stirred = False
        """Someone wants the loop to be asked again, and it was not yet."""

    @property
    def busy(self) -> frozenset[str]:
        """Names of the works that run."""
        return frozenset(name for name in self._tasks.values() if name is not None)

    def __len__(self) -> int:
        return len(self._tasks)

    def start(self, works: Sequence[Work]) -> None:
        """They begin."""
        for work in works:
            task = asyncio.ensure_future(self._perform(work))
            self._tasks[task] = work.work
            task.add_done_callback(lambda _: self._moved.set())

    async def next(self, within: float | None = None) -> list[WorkResult]:
        """What came of the works that ended, once one has; nothing after so many seconds, or once stirred.

        Raises what a work raised. Cancelled, it ends them all.
        """
        if not self._tasks:
            return []
        try:
            async with asyncio.timeout(within):
                return await self._once_one_ended()
        except TimeoutError:
            return []
        except BaseException:
            await self.cancel()
            raise

    async def _once_one_ended(self) -> list[WorkResult]:
        while True:
            await self._moved.wait()
            self._moved.clear()
            ended = self._ended()
            if ended or self.is_stirred:  # else it is the callback of a work that was handed over already
                self.is_stirred = False
                return ended

    def stir(self) -> None:
        """Ask the loop again."""
        self.is_stirred = True
        self._moved.set()

    def take_stir(self) -> bool:
        """Whether someone wanted the loop to be asked again, who is heard with this."""
        was, self.is_stirred = self.is_stirred, False
        return was

    async def drain(self) -> list[WorkResult]:
        """What came of all of them, once all have ended."""
        results: list[WorkResult] = []
        while self._tasks:
            results += await self.next()
        return results

    async def cancel(self) -> None:
        """Ends them all."""
        tasks = list(self._tasks)
        self._tasks.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self) -> list[WorkResult]:
        ended = [task for task in self._tasks if task.done()]
        for task in ended:
            del self._tasks[task]
        return [task.result() for task in ended]
