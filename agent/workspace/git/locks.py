"""Wait for locks of other git processes. rundry never removes a lock."""

from __future__ import annotations

import asyncio
import time

from .places import GitPlaces
from .repository import GitFailed

LOCK_SECONDS = 3.0
"""Seconds to wait for another git process to finish."""
_POLL_SECONDS = 0.05


async def wait_for_locks(places: GitPlaces, seconds: float = LOCK_SECONDS) -> None:
    """Wait until neither the index nor HEAD is locked. Raises GitFailed, which names the lock, after `seconds`."""
    until = time.monotonic() + seconds
    while True:
        held = [lock for lock in (places.folder / "index.lock", places.folder / "HEAD.lock") if lock.exists()]
        if not held:
            return
        if time.monotonic() >= until:
            raise GitFailed(
                f"another git process holds {held[0]}: wait for it, or remove the file if no git process is running"
            )
        await asyncio.sleep(_POLL_SECONDS)
