"""Watch the file of a waiting proposal. Changes are reported immediately if the system can, else in a second."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from ..system.real_paths import real_path
from ..workspace.watch import watch_files

if TYPE_CHECKING:
    from ..protocol import Clock
    from ..workspace.paths import Workspace
    from .draft import FileDraft
    from .ruling import Ruling

CHECK_EVERY = 1.0
"""Seconds between two checks of the file's status, because file systems like NFS do not report changes."""


class FileWatch:
    """Watches one file, by its name and at its link's target, until `close`."""

    def __init__(self, ws: Workspace, draft: FileDraft, clock: Clock) -> None:
        self._clock = clock
        given = ws.at(draft.before.path)
        self._paths = {given, draft.before.real}
        self._reported, self._stop = asyncio.Event(), asyncio.Event()
        self._seen = self._stamp()
        named = real_path(given.parent) / given.name
        inside = {path for path in (named, draft.before.real) if path.is_relative_to(ws.root)}
        self._task = asyncio.ensure_future(watch_files(inside, self._reported.set, self._stop))
        self._task.add_done_callback(_raise_unexpected)

    def close(self) -> asyncio.Task[None]:
        """Stop watching. The returned task ends by itself within 0.1 s, so nobody has to wait for it."""
        self._stop.set()
        return self._task

    async def wait(self, until: asyncio.Future[Ruling]) -> bool:
        """Return True as soon as the file may have changed, False after a second or when `until` is done."""
        pause = asyncio.ensure_future(self._clock.sleep(CHECK_EVERY))
        reported = asyncio.ensure_future(self._reported.wait())
        try:
            await asyncio.wait({until, pause, reported}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            pause.cancel()
            reported.cancel()
        is_reported, before, self._seen = self._reported.is_set(), self._seen, self._stamp()
        self._reported.clear()
        return not until.done() and (is_reported or before != self._seen)

    def _stamp(self) -> tuple[int, ...]:
        """Return values that change with the file, or with a link in its place."""
        return tuple(part for path in self._paths for part in _status(path))


def _raise_unexpected(task: asyncio.Task[None]) -> None:
    """Raise an unexpected error. A folder that cannot be watched (no watches left, or deleted) is still checked."""
    if not task.cancelled() and isinstance(error := task.exception(), Exception) and not isinstance(error, OSError):
        raise error


def _status(path: Path) -> tuple[int, ...]:
    try:
        status = path.lstat()
    except OSError:
        return (0,)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
