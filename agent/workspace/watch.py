"""Tells when someone else changes a file of the workspace. Our own writes are not told (`Workspace.ledger`)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from .ignore import Ignore
from .paths import Workspace

_DEBOUNCE_MS = 200
_STEP_MS = 50


async def watch(
    ws: Workspace,
    on_change: Callable[[frozenset[str]], None],
    stop: asyncio.Event,
    *,
    paths: Sequence[Path] | None = None,
    polling: bool = False,
) -> None:
    """Calls `on_change` with the relative paths that others changed, made or removed, until `stop` is set.

    `paths`: only these files, and only their folders are watched (in a huge tree every folder costs a watch); None:
    all that is not ignored. `polling` is for file systems that send no events (NFS, WSL). Raises OSError where the
    system's watches are used up.
    """
    from watchfiles import awatch  # pyright: ignore[reportUnknownVariableType]  # ~30 ms

    wanted = None if paths is None else frozenset(paths)
    folders = (
        {ws.root} if wanted is None else {folder for folder in (path.parent for path in wanted) if folder.is_dir()}
    )
    ignore = Ignore(ws.root)
    if not folders:
        await stop.wait()
        return
    async for changes in awatch(
        *folders,
        watch_filter=None,
        debounce=_DEBOUNCE_MS,
        step=_STEP_MS,
        stop_event=stop,
        recursive=wanted is None,
        force_polling=polling,
    ):
        touched = {Path(path) for _, path in changes}
        if wanted is not None:
            touched &= wanted
        theirs = frozenset(
            ws.relative(path)
            for path in touched
            if path.is_relative_to(ws.root) and not ws.ledger.is_ours(path) and _counts(ws, ignore, path)
        )
        if theirs:
            on_change(theirs)


def _counts(ws: Workspace, ignore: Ignore, path: Path) -> bool:
    return path != ws.root and not path.is_dir() and not ignore.ignored(ws.relative(path))
