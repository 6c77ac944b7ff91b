"""Track the running work of a run, let a person interrupt it, and pause it between two steps."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from ...protocol import Paused

if TYPE_CHECKING:
    from ...state.facts.run_facts import RunFacts
    from ...state.recorder import Recorder
    from .used_limits import UsedLimits

T = TypeVar("T")


class PersonInterrupted(Exception):
    """A person interrupted the running work. The text says how: `interrupt`, `steer`, `pause`, `stop` or `deadline`."""


class CommandEnded(PersonInterrupted):
    """A person ended a running command."""

    def __init__(self, how: PersonInterrupted, left: str, stays: str = "") -> None:
        super().__init__(str(how))
        self.left = left
        """Text for the model: what the command printed and changed before its end."""
        self.stays = stays
        """Why what a child run changed stays in its stage."""


class OpenWait:
    """A wait of the model that runs now."""

    def __init__(self, *, for_person: bool) -> None:
        """`for_person`: whether only a person can end it."""
        self.for_person = for_person
        self.is_woken = False
        """Whether a person ended it."""


class Activity:
    """The work that is running now, in a run and its tries."""

    def __init__(self, facts: RunFacts, limits: UsedLimits) -> None:
        self._facts, self._limits = facts, limits
        self._news = asyncio.Event()
        self._interrupted: str | None = None
        """How a person interrupted the running work, until that has ended."""
        self._running, self._resting = 0, 0
        self._tasks: set[asyncio.Task[Any]] = set()
        self._one_step = False
        self._retries: list[asyncio.Future[None]] = []
        """The waits before retries of calls."""
        self._awaiting: list[OpenWait] = []
        self.message_waits = False
        """Whether a message arrived that is delivered when the work has ended, and is not queued."""
        self.awaited = 0.0
        """Seconds that the model waited for something. Stall detectors leave them out."""

    @property
    def is_running(self) -> bool:
        """Whether something runs that a person can interrupt."""
        return self._running > 0

    @property
    def is_resting(self) -> bool:
        """Whether all running work waits because the run is paused."""
        return 0 < self._running == self._resting

    @property
    def one_step(self) -> bool:
        """Whether a person asked for one step of a paused run."""
        return self._one_step

    def allow_one_step(self) -> None:
        """Let a paused run make one step."""
        self._one_step = True

    def end_one_step(self) -> None:
        """Keep a paused run from making another step."""
        self._one_step = False

    @contextmanager
    def in_progress(self) -> Generator[None]:
        """Mark the block as interruptible: a step, a check, the wrap-up. Earlier interrupts do not count."""
        if not self.is_running:
            self._interrupted = None
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1
            self.wake()

    def interrupt(self, how: str) -> bool:
        """Interrupt the running work. Returns false if nothing runs."""
        if not self.is_running:
            return False
        self._interrupted = how
        for task in self._tasks:
            task.cancel()
        return True

    def raise_if_interrupted(self) -> None:
        """Raise PersonInterrupted if a person interrupted the running work."""
        if self._interrupted is not None:
            raise PersonInterrupted(self._interrupted)

    async def interruptible(self, work: Coroutine[Any, Any, T]) -> T:
        """Run the coroutine so that a person can interrupt it. Raises PersonInterrupted if they do."""
        if self._interrupted is not None:
            work.close()
            raise PersonInterrupted(self._interrupted)
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            return await task
        except asyncio.CancelledError:
            if self._interrupted is not None and task.cancelled() and not _is_cancelled():
                raise PersonInterrupted(self._interrupted) from None
            raise

    def wake(self) -> None:
        """Let every `until` check its condition again. Called after each command of a person."""
        self._news.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until the condition holds. It is checked at each `wake`."""
        while not condition():
            self._news.clear()
            await self._news.wait()

    def pause(self, why: str, events: Recorder) -> None:
        """Pause the run for a reason that a person has to read, unless it is paused."""
        if not self._facts.paused:
            events.record(Paused(by="program", why=why))

    async def wait_to_retry(self, timer: Coroutine[Any, Any, None], is_enough: Callable[[], bool]) -> None:
        """Wait until the timer ends, a person continues or pauses the run, or the deadline passes.

        `is_enough` is checked after each command. Raises PersonInterrupted.
        """
        self._retries.append(ended := asyncio.ensure_future(timer))
        ended.add_done_callback(lambda _: self.wake())

        def may_retry() -> bool:
            return ended.done() or self._facts.paused or is_enough() or self._limits.deadline_passed()

        try:
            await self.interruptible(self.until(may_retry))
        finally:
            self._retries.remove(ended)
            ended.cancel()

    def retry_now(self) -> bool:
        """End the waits before retries. Returns false if there are none."""
        for wait in self._retries:
            wait.cancel()
        return bool(self._retries)

    @contextmanager
    def awaiting(self, *, for_person: bool) -> Generator[OpenWait]:
        """Mark the block as a wait of the model, which a person can end with `/wake`."""
        self._awaiting.append(wait := OpenWait(for_person=for_person))
        try:
            yield wait
        finally:
            self._awaiting.remove(wait)

    @property
    def awaits_person(self) -> bool:
        """Whether the model waits for a person."""
        return any(wait.for_person for wait in self._awaiting)

    def end_waits(self) -> bool:
        """End the waits of the model at the request of a person. Returns false if there are none."""
        for wait in self._awaiting:
            wait.is_woken = True
        self.wake()
        return bool(self._awaiting)

    async def rest_while_paused(self) -> bool:
        """Wait while the run is paused, between two steps or two attempts of a call.

        Returns false if a person ended the work meanwhile.
        """

        def may_continue() -> bool:
            may_step = not self._facts.paused or self._one_step
            return may_step or self._interrupted is not None or self._limits.deadline_passed()

        if not may_continue():
            self._resting += 1
            try:
                await self.until(may_continue)
            finally:
                self._resting -= 1
        if self._facts.paused:
            self._one_step = False
        return self._interrupted is None

    async def close(self) -> None:
        """Cancel the running work, and wait for its end."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _is_cancelled() -> bool:
    """Return whether the task itself is cancelled, not only what it waits for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
