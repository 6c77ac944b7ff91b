"""Compare a workspace before and after a command, where the sandbox itself cannot keep the command from a change."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...names import CONFIG
from ...processes.processes import ProtectedChange
from ..kept.compare import KeptPlaces, Protected
from ..kept.hidden_names import HiddenNames

if TYPE_CHECKING:
    from ...processes.processes import NewRepository
    from ..kept.copies import Copies
    from .guard import GitGuard, GitMounts


class CheckResults(NamedTuple):
    """Results of the checks after a command."""

    lines: list[str]
    """One line for each problem."""
    repositories: tuple[NewRepository, ...]
    changes: list[ProtectedChange]
    """Protected files that changed and stay as they are."""
    hidden: list[Path]
    """Further names of hidden files."""


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

    async def begin(self, *, compare: bool, more: KeptPlaces, copies: Copies | None) -> GitMounts | None:
        """Record the places and prepare the git folders.

        `compare`: the sandbox cannot protect the places and `more`, so they are compared afterwards.
        """
        if more.hidden:
            self._names = await asyncio.to_thread(HiddenNames, self._ws, more.hidden)
        if self._guard is not None:
            self._git = await self._begin(self._guard)
            if compare or self._git.words is None:
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

    def changes(self) -> list[ProtectedChange]:
        """Return the protected files that changed until now. Reads the disk."""
        found = {one.path: one for one in (self._kept.changes() if self._kept else ())}
        if self._had_no_config and os.path.lexists(self._config):
            why = "it would be rundry's config of this folder, as soon as a person trusts it"
            found[CONFIG] = ProtectedChange(path=CONFIG, why=why)
        return list(found.values())

    async def finish(self) -> CheckResults:
        """Import git changes, and find the protected files and names of hidden files that changed."""
        hidden = await asyncio.to_thread(self._names.new) if self._names else []
        changes = await asyncio.to_thread(self.changes)
        lines = self._kept.notes() if self._kept else []
        lines += [
            f"{path.relative_to(self._ws)} is a name of a hidden file: commands cannot read it" for path in hidden
        ]
        if self._guard is None or self._git is None:
            return CheckResults(lines, (), changes, hidden)
        more, repositories = await asyncio.to_thread(self._guard.end, self._git, self._writable)
        known = {one.path for one in changes}
        for one in repositories:
            name = str(one.path.relative_to(self._ws))
            if one.aside is None and name not in known:
                changes.append(ProtectedChange(path=name, why="it is a git repository, whose settings git obeys"))
        return CheckResults(lines + more, tuple(repositories), changes, hidden)
