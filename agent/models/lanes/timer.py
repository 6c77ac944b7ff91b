"""Limit how long a server may send nothing, and how long an answer may take."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from typing import TYPE_CHECKING, TypeVar

import msgspec

from ...protocol import ModelFault

if TYPE_CHECKING:
    from ..endpoint import Endpoint

T = TypeVar("T")


class StallTimeouts(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds before a stream counts as stalled."""

    first: float
    """Until the first piece. A local model reads the whole prompt before it."""
    between: float = 60.0
    """Between two pieces."""
    kept_alive: float = 3600.0
    """Until the first piece, if the server meanwhile sends bytes that only keep the connection alive."""


class Timer:
    """Waits for the next piece until the server counts as stalled or the deadline passes."""

    def __init__(self, at: Endpoint, timeouts: StallTimeouts, seconds: float | None) -> None:
        self._at = at
        self._timeouts = timeouts
        self._end = None if seconds is None else time.monotonic() + seconds
        self.sent = time.monotonic()
        """When the request was made; monotonic."""
        self.first: float | None = None
        """When the first piece of the answer arrived; monotonic."""
        self.start()

    @property
    def begun(self) -> bool:
        """Whether the first piece has arrived."""
        return self.first is not None

    def start(self) -> None:
        """Start the first time-out. Call it when the request is sent, and when the server reports progress."""
        now = time.monotonic()
        self._first_by, self._stalled_at = now + self._timeouts.kept_alive, now + self._timeouts.first

    def kept_alive(self) -> None:
        """Restart the first time-out after bytes that are not a piece of the answer, as far as `kept_alive` allows.

        They do not count once the answer has begun: a server whose model has died still sends them.
        """
        if not self.begun:
            self._stalled_at = min(time.monotonic() + self._timeouts.first, max(self._first_by, self._stalled_at))

    def arrived(self) -> None:
        """Restart the time-out after a piece of the answer."""
        now = time.monotonic()
        self.first = self.first or now
        self._stalled_at = now + self._timeouts.between

    async def wait(self, coming: Awaitable[T]) -> T:
        """Wait for the result. Raises ModelFault `stalled`, `timeout` or `deadline`, and cancels what it waited for."""
        until = self._stalled_at if self._end is None else min(self._stalled_at, self._end)
        running = asyncio.timeout(max(until - time.monotonic(), 0))
        try:
            async with running:
                return await coming
        except TimeoutError:
            if not running.expired():
                raise
        if self._end is not None and time.monotonic() >= self._end:
            raise ModelFault("deadline", "the time limit ended the answer")
        place = self._at.api_base or self._at.provider
        if self.begun:
            text = f"{place} sent nothing for {self._timeouts.between:g} s"
            raise ModelFault("stalled", text, retryable=True)
        if time.monotonic() >= self._first_by:
            text = f"{place} kept the connection open for {self._timeouts.kept_alive:g} s, but sent no answer"
            raise ModelFault("timeout", text)
        raise ModelFault("timeout", f"{place} sent nothing for {self._timeouts.first:g} s", retryable=True)
