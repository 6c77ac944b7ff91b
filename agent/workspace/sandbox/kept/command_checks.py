"""Compare a workspace before and after a command, where the sandbox itself cannot keep the command from a change."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...names import CONFIG
from ...processes.processes import ProtectedChange
from .compare import KeptPlaces, Protected
from .hidden_names import HiddenNames

if TYPE_CHECKING:
    from ..git_folders.guard import GitGuard, GitMounts
    from .copies import Copies


class CheckResults(NamedTuple):
    """Results of the checks after a command."""

    lines: list[str]
    """One line for each problem."""
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
        self._is_judged = judged
        self._had_no_config = not judged and not os.path.lexists(self._config)
        self._git: GitMounts | None = None
        self._kept: Protected | None = None
        self._names: HiddenNames | None = None

    async def begin(self, *, mounts: bool, more: KeptPlaces, copies: Copies | None) -> GitMounts | None:
        """Record the places that are compared afterwards, and those of git.

        `mounts`: the sandbox mounts those that exist read-only, so that the command cannot change them.
        """
        if more.hidden:
            self._names = await asyncio.to_thread(HiddenNames, self._ws, more.hidden)
        if self._guard is not None:
            self._git = await asyncio.to_thread(self._guard.begin, self._writable)
            nested = self._git.read_only
            self._kept = await asyncio.to_thread(
                Protected, self._ws, self._writable, nested, more, copies, are_mounted=mounts
            )
        return self._git

    def changes(self) -> list[ProtectedChange]:
        """Return the protected files that changed until now. Reads the disk."""
        found = {one.path: one for one in (self._kept.changes() if self._kept else ())}
        if self._had_no_config and os.path.lexists(self._config):
            why = "it would be rundry's config of this folder, as soon as a person trusts it"
            found[CONFIG] = ProtectedChange(path=CONFIG, why=why)
        if self._is_judged:
            found.pop(CONFIG, None)
        return list(found.values())

    async def finish(self) -> CheckResults:
        """Find the protected files, the repositories and the names of hidden files that changed or are new."""
        hidden = await asyncio.to_thread(self._names.new) if self._names else []
        changes = await asyncio.to_thread(self.changes)
        lines = self._kept.notes() if self._kept else []
        lines += [
            f"{path.relative_to(self._ws)} is a name of a hidden file: commands cannot read it" for path in hidden
        ]
        if self._guard is None or self._git is None:
            return CheckResults(lines, changes, hidden)
        more, repositories = await asyncio.to_thread(self._guard.end, self._git, self._writable)
        known = {one.path for one in changes}
        new = [name for name in (str(path.relative_to(self._ws)) for path in repositories) if name not in known]
        why = "it is a git repository, whose settings git obeys"
        return CheckResults(lines + more, [*changes, *(ProtectedChange(path=name, why=why) for name in new)], hidden)
