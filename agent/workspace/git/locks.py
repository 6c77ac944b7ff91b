"""Wait for locks of other git processes. rundry never removes a lock."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ...system.lock_holder import lock_holder
from .repository import GitFailed

if TYPE_CHECKING:
    from .places import GitPlaces

LOCK_SECONDS = 3.0
"""Seconds to wait for another git process to finish."""
_POLL_SECONDS = 0.05
_UNNOTICED_SECONDS = 0.3
"""Seconds of a wait that are not reported: most git commands are shorter."""


class LockWatcher(Protocol):
    """Receives the waits for locks that are not short."""

    def awaited(self, lock: str, holder: str) -> None:
        """Report that a wait began. `holder`: a process, or empty if it is unknown."""
        ...

    def over(self, lock: str, seconds: float, *, obtained: bool) -> None:
        """Report that this wait ended."""
        ...


async def wait_for_locks(places: GitPlaces, watcher: LockWatcher | None = None, seconds: float = LOCK_SECONDS) -> None:
    """Wait until neither the index nor HEAD is locked. Raises GitFailed after `seconds`.

    The error and `watcher` name the lock and its holder.
    """
    began = time.monotonic()
    told: Path | None = None
    try:
        while held := _held(places):
            waited = time.monotonic() - began
            if waited >= seconds:
                raise GitFailed(f"{_who(held, places)}: wait for it, or remove the file if no git process is running")
            if watcher is not None and told is None and waited >= _UNNOTICED_SECONDS:
                told = held
                watcher.awaited(str(held), await asyncio.to_thread(lock_holder, held, places.top))
            await asyncio.sleep(_POLL_SECONDS)
    finally:
        if watcher is not None and told is not None:
            watcher.over(str(told), time.monotonic() - began, obtained=not told.exists())


def _held(places: GitPlaces) -> Path | None:
    """Return a lock that is held now."""
    locks = (places.folder / "index.lock", places.folder / "HEAD.lock")
    return next((lock for lock in locks if lock.exists()), None)


def _who(lock: Path, places: GitPlaces) -> str:
    holder = lock_holder(lock, places.top)
    return f"another git process holds {lock}{f' ({holder})' if holder else ''}"
