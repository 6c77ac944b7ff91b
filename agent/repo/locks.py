"""Wait for locks of other git processes. rundry never removes a lock."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ..protocol.text.shorten_text import end_cut
from .repository import GitFailed

if TYPE_CHECKING:
    from .git_places import GitPlaces

LOCK_SECONDS = 3.0
"""Seconds to wait for another git process to finish."""
_POLL_SECONDS = 0.05
_UNNOTICED_SECONDS = 0.3
"""Seconds of a wait that are not reported: most git commands are shorter."""
_SHOWN_CHARACTERS = 60
"""Characters of a command line that are shown."""


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
                watcher.awaited(str(held), await asyncio.to_thread(_lock_holder, held, places.top))
            await asyncio.sleep(_POLL_SECONDS)
    finally:
        if watcher is not None and told is not None:
            watcher.over(str(told), time.monotonic() - began, obtained=not told.exists())


def _held(places: GitPlaces) -> Path | None:
    """Return a lock that is held now."""
    locks = (places.folder / "index.lock", places.folder / "HEAD.lock")
    return next((lock for lock in locks if lock.exists()), None)


def _who(lock: Path, places: GitPlaces) -> str:
    holder = _lock_holder(lock, places.top)
    return f"another git process holds {lock}{f' ({holder})' if holder else ''}"


def _lock_holder(lock: Path, folder: Path) -> str:
    """Return `process 4711 (git commit -m x)` if a process has the file open; an empty text if the holder is unknown.

    Git closes its lock files, so a git process that works in `folder` is named as the probable holder.
    The processes are read from /proc (proc(5), Linux).
    """
    beside: str = ""
    for pid in _pids():
        if _has_open(pid, lock):
            return _named(pid)
        if not beside and _is_git_in(pid, folder):
            beside = f"probably {_named(pid)}"
    return beside


def _pids() -> Iterator[int]:
    with suppress(OSError), os.scandir("/proc") as entries:
        for entry in entries:
            if entry.name.isdecimal() and int(entry.name) != os.getpid():
                yield int(entry.name)


def _has_open(pid: int, lock: Path) -> bool:
    with suppress(OSError), os.scandir(f"/proc/{pid}/fd") as descriptors:
        for descriptor in descriptors:
            with suppress(OSError):
                if Path(descriptor.path).readlink() == lock:
                    return True
    return False


def _is_git_in(pid: int, folder: Path) -> bool:
    with suppress(OSError):
        words = _words(pid)
        return bool(words) and Path(words[0]).name == "git" and Path(f"/proc/{pid}/cwd").readlink() == folder
    return False


def _named(pid: int) -> str:
    line = end_cut(" ".join(_words(pid)), _SHOWN_CHARACTERS)
    return f"process {pid} ({line})" if line else f"process {pid}"


def _words(pid: int) -> list[str]:
    try:
        data = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it ended meanwhile
        return []
    return [word.decode("utf-8", "replace") for word in data.split(b"\0") if word]
