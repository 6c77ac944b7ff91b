"""Check a workspace before and after a command, and undo what the sandbox itself could not prevent."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...names import CONFIG
from ..kept.other_names import HiddenNames
from ..kept.restore import KeptPlaces, Protected, move_config_aside

if TYPE_CHECKING:
    from ...processes.processes import NewRepository
    from ..kept.copies import Copies
    from .guard import GitGuard, GitMounts


class CheckResults(NamedTuple):
    """Results of the checks after a command."""

    lines: list[str]
    """One line for each repair."""
    repositories: tuple[NewRepository, ...]
    changed_programs: Path | None = None
    """A folder of programs that the command changed and rundry restored."""


class CommandChecks:
    """The checks before and after one command."""

    def __init__(self, ws: Path, writable: Sequence[Path], *, judged: bool, guard: GitGuard | None) -> None:
        self._ws = Path(os.path.realpath(ws))
        self._config = self._ws / CONFIG
        self._writable, self._guard = writable, guard
        self._had_no_config = not judged and not os.path.lexists(self._config)
        self._git: GitMounts | None = None
        self._kept: Protected | None = None
        self._names: HiddenNames | None = None

    async def begin(self, *, restore: bool, more: KeptPlaces, copies: Copies | None) -> GitMounts | None:
        """Record the places and prepare the git folders.

        `restore`: the sandbox cannot protect the places and `more`, so they are restored afterwards.
        """
        if more.hidden:
            self._names = await asyncio.to_thread(HiddenNames, self._ws, more.hidden)
        if self._guard is not None:
            self._git = await self._begin(self._guard)
            if restore or self._git.words is None:
                nested = self._git.read_only
                self._kept = await asyncio.to_thread(Protected, self._ws, self._writable, nested, more, copies)
        return self._git

    async def _begin(self, guard: GitGuard) -> GitMounts:
        """Begin in a thread. If cancelled meanwhile, wait for the begin and end it."""
        beginning = asyncio.ensure_future(asyncio.to_thread(guard.begin, self._writable))
        try:
            return await asyncio.shield(beginning)
        except asyncio.CancelledError:
            await asyncio.to_thread(guard.end, await beginning, self._writable)
            raise

    def _config_aside(self) -> list[str]:
        return [move_config_aside(self._config)] if self._had_no_config and os.path.lexists(self._config) else []

    async def finish(self) -> CheckResults:
        """Import git changes, restore protected places, and move new repositories aside."""
        lines = self._config_aside()
        lines += await asyncio.to_thread(self._names.restore) if self._names else []
        lines += await asyncio.to_thread(self._kept.restore) if self._kept else []
        changed = self._kept.changed_programs if self._kept else None
        if self._guard is None or self._git is None:
            return CheckResults(lines, (), changed)
        more, repositories = await asyncio.to_thread(self._guard.end, self._git, self._writable)
        return CheckResults(lines + more, tuple(repositories), changed)
