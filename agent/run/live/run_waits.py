"""Wait between the steps of a run, for the user or for a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ...protocol import Clock, Sleeping, Woken, WokenBy

if TYPE_CHECKING:
    from ...state.facts.run_facts import RunFacts
    from ...state.recorder import Recorder
    from ...step.resources.activity import Activity
    from ...step.resources.used_limits import UsedLimits
    from .control_requests import UserRequests


class Waits:
    """The waits of the driver. Each ends on a requested stop and on a request for control."""

    def __init__(self, activity: Activity, requests: UserRequests, clock: Clock) -> None:
        self._activity, self._requests, self._clock = activity, requests, clock
        self._for_person = False

    @property
    def is_for_person(self) -> bool:
        """Whether the run waits and only the user can end the wait."""
        return self._for_person

    @contextmanager
    def for_person(self, *, only: bool = True) -> Generator[None]:
        """Mark the block as a wait. `only`: whether only the user can end it."""
        self._for_person = only
        try:
            yield
        finally:
            self._for_person = False

    async def until(self, enough: Callable[[], bool], *, of_person: bool = True) -> None:
        """Wait until `enough` returns true or a request arrives; both are checked after each event.

        `of_person`: whether only the user can end the wait.
        """
        requests = self._requests
        with self.for_person(only=of_person):
            await self._activity.until(lambda: requests.stop is not None or requests.wants_control or enough())

    @contextmanager
    def timer(self, seconds: float) -> Generator[asyncio.Future[None]]:
        """Yield a future that is done after `seconds`; all waits are then checked again."""
        timer = asyncio.ensure_future(self._clock.sleep(seconds))
        timer.add_done_callback(lambda _: self._activity.wake())
        try:
            yield timer
        finally:
            timer.cancel()


class Sleeper:
    """Sleeps between two passes or steps."""

    def __init__(self, facts: RunFacts, events: Recorder, limits: UsedLimits, clock: Clock, waits: Waits) -> None:
        self._facts, self._events, self._limits, self._clock, self._waits = facts, events, limits, clock, waits
        self._asleep = self._woken = False

    @property
    def is_asleep(self) -> bool:
        """Whether the run sleeps now."""
        return self._asleep

    def wake(self) -> None:
        """End the sleep at the request of the user."""
        self._woken = True

    async def sleep(self, asleep: Sleeping, requests: UserRequests) -> bool:
        """Sleep until the time is over, the user wakes the run, a message arrives or the deadline passes.

        Returns false if the run has to stop.
        """
        self._events.record(asleep)
        began = self._clock.monotonic()
        self._asleep, self._woken = True, False
        try:
            with self._waits.timer(asleep.seconds) as timer:
                by = await self._ended_by(timer, requests)
        finally:
            self._asleep = False
        if by is not None:
            self._events.record(Woken(by=by, slept=self._clock.monotonic() - began))
        return by is not None

    async def _ended_by(self, timer: asyncio.Future[None], requests: UserRequests) -> WokenBy | None:
        """Return what ended the sleep, or None if the run has to stop."""

        def woken_by() -> WokenBy | None:
            if self._woken or requests.wants_control:
                return "person"
            if self._facts.queue:
                return "message"
            if self._limits.deadline_passed():
                return "deadline"
            return "clock" if timer.done() else None

        await self._waits.until(lambda: woken_by() is not None, of_person=False)
        return woken_by()
