"""Report the newest state of something that changes often, at growing intervals."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

FIRST_SECONDS = 1.0
"""Seconds before the first report: what ends sooner costs no event."""
_LEAST, _MOST = 0.5, 5.0
"""Seconds between two reports at the start and in the long run."""
_SHARE = 20
"""The pause between two reports is this part of the time so far: ten minutes have about 150 reports."""


class GrowingPauses:
    """Calls `report` some time after a change, at most twice a second, and less often the longer it takes."""

    def __init__(self, report: Callable[[], object]) -> None:
        """Create it on the running loop, when the thing begins that is reported."""
        self._report = report
        self._loop = asyncio.get_running_loop()
        self._began, self._due = self._loop.time(), self._loop.time() + FIRST_SECONDS
        self._timer: asyncio.TimerHandle | None = None

    def changed(self) -> None:
        """Note that there is something new to report."""
        if self._timer is None:
            self._timer = self._loop.call_at(self._due, self._ring)

    def stop(self) -> None:
        """Report nothing more."""
        if self._timer is not None:
            self._timer.cancel()

    def _ring(self) -> None:
        now, self._timer = self._loop.time(), None
        self._due = now + min(_MOST, max(_LEAST, (now - self._began) / _SHARE))
        self._report()
