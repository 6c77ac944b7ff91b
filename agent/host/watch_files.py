"""Watch files: changes of other programs in the workspace, or all changes of a list of files."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncGenerator, Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .ignored_files import Ignore
from .inotify import Inotify

if TYPE_CHECKING:
    from .workspace_paths import Workspace

_DEBOUNCE_MS = 200
_STEP_MS = 50
_QUEUE = Path("/proc/sys/fs/inotify/max_queued_events")
_MOST_EVENTS = 16_384
"""Events that Linux keeps for a reader, if it does not say. It drops further ones, and watchfiles does not report that
(its issue 348)."""
_EVENTS_OF_FILE = 8
"""A file that is made, written and renamed has at most about this many events."""


async def watch(
    ws: Workspace,
    on_change: Callable[[frozenset[str]], None],
    stop: asyncio.Event,
    *,
    polling: bool = False,
) -> None:
    """Call `on_change` with the relative paths that other programs changed, made or removed, until `stop` is set.

    Ignored files and writes of this process (`Workspace.run_writes`) are not reported. If very many files change
    together, some may be missing: then `on_change` is also called without a path. `polling` is for file systems that
    send no events (NFS, WSL). Raises OSError if the system has no more watches.
    """
    ignore = Ignore(ws.root, ws.skipped)
    async for touched in _changes({ws.root}, stop, recursive=True, polling=polling):
        theirs = frozenset(
            ws.relative(path)
            for path in touched
            if path.is_relative_to(ws.root) and not ws.run_writes.is_ours(path) and _is_reported(ws, ignore, path)
        )
        if theirs or len(touched) >= _most_events() // _EVENTS_OF_FILE:
            on_change(theirs)


def _most_events() -> int:
    try:
        return int(_QUEUE.read_text())
    except (OSError, ValueError):  # another system
        return _MOST_EVENTS


async def watch_files(paths: Collection[Path], on_change: Callable[[], None], stop: asyncio.Event) -> None:
    """Call `on_change` when one of these files changes, until `stop` is set. Writes of this process are reported too.

    Only the folders of these files are watched, because each watched folder uses one of the system's watches. For a
    missing folder, the nearest existing parent is watched. Raises OSError if that is not possible.
    """
    folders = {_nearest(path.parent) for path in paths}
    if not folders:
        return

    def report(touched: set[Path]) -> None:
        if any(path.is_relative_to(changed) for changed in touched for path in paths):
            on_change()

    if sys.platform == "linux":  # watchfiles wakes its thread twenty times a second
        await _watch_by_inotify(folders, report, stop)
        return
    async for touched in _changes(folders, stop, recursive=False, polling=False):
        report(touched)


async def _watch_by_inotify(
    folders: Collection[Path], report: Callable[[set[Path]], None], stop: asyncio.Event
) -> None:
    """Report changes after a short pause without new ones, because an editor writes a file in several steps."""
    touched: set[Path] = set()
    changed = asyncio.Event()

    def add(paths: set[Path]) -> None:
        touched.update(paths)
        changed.set()

    inotify = Inotify(add)
    stopping = asyncio.ensure_future(stop.wait())
    try:
        for folder in folders:
            inotify.watch(folder)
        while not stop.is_set():
            changed.clear()
            if not touched:
                await _wait_for(changed, stopping)
            last = time.monotonic() + _DEBOUNCE_MS / 1000
            while not stop.is_set() and changed.is_set() and time.monotonic() < last:
                changed.clear()
                await _wait_for(changed, stopping, _STEP_MS / 1000)
            if touched:
                reported = set(touched)
                touched.clear()
                report(reported)
    finally:
        stopping.cancel()
        inotify.close()


async def _wait_for(changed: asyncio.Event, stopping: asyncio.Future[Any], seconds: float | None = None) -> None:
    """Wait for the first event, for the end of the watch, or for this many seconds."""
    waiting = asyncio.ensure_future(changed.wait())
    try:
        await asyncio.wait({waiting, stopping}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()


async def _changes(
    folders: Collection[Path], stop: asyncio.Event, *, recursive: bool, polling: bool
) -> AsyncGenerator[set[Path]]:
    from watchfiles import awatch  # pyright: ignore[reportUnknownVariableType]  # ~30 ms

    async for changes in awatch(
        *folders,
        watch_filter=None,
        debounce=_DEBOUNCE_MS,
        step=_STEP_MS,
        stop_event=stop,
        recursive=recursive,
        force_polling=polling,
    ):
        yield {Path(path) for _, path in changes}


def _nearest(folder: Path) -> Path:
    while not folder.is_dir():
        folder = folder.parent
    return folder


def _is_reported(ws: Workspace, ignore: Ignore, path: Path) -> bool:
    return path != ws.root and not path.is_dir() and not ignore.ignored(ws.relative(path))
