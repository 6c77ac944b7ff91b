"""Decide when to look at a journal: immediately after a write, often while writes continue, rarely in silence."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from ..host.inotify import Inotify

SETTLE_SECONDS = 0.1
"""How long to look often after a write. SQLite publishes a commit shortly after it wrote to the file."""
STILL_SECONDS = 2.0
"""The longest pause between two looks where the system reports writes."""
POLL_SECONDS = 1 / 20
"""The longest pause where the system reports nothing."""


class WriteWatch:
    """Lets one task wait until it should look at a journal. A report of a write is only a hint, never the only reason.

    The watched file is the -wal file: each commit is written to it, and it exists as long as a handle is open.
    """

    def __init__(self, busy: float, poll: float = POLL_SECONDS) -> None:
        """`busy`: seconds between two looks while writes continue. `poll`: the same in silence, without inotify."""
        self._busy, self._poll = busy, poll
        self._journal: Path | None = None
        self._inotify: Inotify | None = None
        self._tried = False
        self._woken = asyncio.Event()
        self._woken_at = float("-inf")

    def follow(self, journal: Path) -> None:
        """Watch this journal, which has an open handle in this process, from the next `wait` on."""
        self.close()
        self._journal, self._tried = journal, False
        self.wake()

    def wake(self) -> None:
        """Look immediately, and often for a while. Call it from the event loop."""
        self._woken_at = time.monotonic()
        self._woken.set()

    async def wait(self, limit: float = STILL_SECONDS) -> None:
        """Return when the next look is due, after `limit` seconds at the latest."""
        self._start()
        since = time.monotonic() - self._woken_at
        if since < SETTLE_SECONDS:  # each pause is twice as long as the one before, until the next write
            await asyncio.sleep(min(max(self._busy, since), limit))
            return
        self._woken.clear()
        try:
            async with asyncio.timeout(min(limit, STILL_SECONDS if self._reports_writes else self._poll)):
                await self._woken.wait()
        except TimeoutError:
            pass

    def close(self) -> None:
        """Stop watching the journal and free its inotify watch."""
        if self._inotify is not None:
            self._inotify.close()
            self._inotify = None

    @property
    def _reports_writes(self) -> bool:
        """Whether each write leads to a call of `wake`, so that polling is not needed."""
        return self._journal is None or self._inotify is not None

    def _start(self) -> None:
        if self._tried or self._journal is None:
            return
        self._tried = True
        inotify = None
        try:
            inotify = Inotify(lambda changed: self.wake())
            inotify.watch(self._journal.with_name(self._journal.name + "-wal"), written_only=True)
        except OSError:  # no inotify here, or no watches left: the journal is polled
            if inotify is not None:
                inotify.close()
            return
        self._inotify = inotify
        self.wake()  # for what was written since the last look
