"""What is looked after, before and after a command, because the sandbox itself cannot."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ..names import CONFIG
from ..processes import NewRepository
from ..put_back import Protected, moved_aside
from .guard import GitGuard, GitMounts


class Settled(NamedTuple):
    """What was found after a command."""

    lines: list[str]
    """One for each thing that had to be mended."""
    repositories: tuple[NewRepository, ...]


class Around:
    """What is looked after, before and after a command, because the sandbox itself cannot."""

    def __init__(self, ws: Path, writable: Sequence[Path], *, judged: bool, guard: GitGuard | None) -> None:
        self._ws = Path(os.path.realpath(ws))
        self._config = self._ws / CONFIG
        self._writable, self._guard = writable, guard
        self._unborn = not judged and not os.path.lexists(self._config)
        self._git: GitMounts | None = None
        self._kept: Protected | None = None

    async def begin(self, *, put_back: bool) -> GitMounts | None:
        """`put_back`: the sandbox cannot keep protected places from the command."""
        if self._guard is not None:
            self._git = await self._begin(self._guard)
            if put_back or self._git.words is None:
                self._kept = Protected(self._ws, self._writable, self._git.read_only)
        return self._git

    async def _begin(self, guard: GitGuard) -> GitMounts:
        """Also where this is cancelled meanwhile, each begin has its end."""
        beginning = asyncio.ensure_future(asyncio.to_thread(guard.begin, self._writable))
        try:
            return await asyncio.shield(beginning)
        except asyncio.CancelledError:
            await asyncio.to_thread(guard.end, await beginning, self._writable)
            raise

    def _config_aside(self) -> list[str]:
        return [moved_aside(self._config)] if self._unborn and os.path.lexists(self._config) else []

    async def settle(self) -> Settled:
        """Import, restore and move aside."""
        lines = self._config_aside()
        lines += self._kept.put_back() if self._kept else []
        if self._guard is None or self._git is None:
            return Settled(lines, ())
        more, repositories = await asyncio.to_thread(self._guard.end, self._git, self._writable)
        return Settled(lines + more, tuple(repositories))
