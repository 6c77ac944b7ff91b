"""Compare a workspace before and after a command, where the sandbox itself cannot keep the command from a change."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...names import CONFIG
from ...processes.processes import ProtectedChange
from .compare import KeptPlaces, Protected

if TYPE_CHECKING:
    from ..git_folders.guard import GitGuard, GitMounts
    from .copies import Copies

_MOST_ENTRIES = 300_000
"""Maximum number of workspace entries that are searched."""


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
        self._names: _HiddenNames | None = None

    async def begin(self, *, mounts: bool, more: KeptPlaces, copies: Copies | None) -> GitMounts | None:
        """Record the places that are compared afterwards, and those of git.

        `mounts`: the sandbox mounts those that exist read-only, so that the command cannot change them.
        """
        if more.hidden:
            self._names = await asyncio.to_thread(_HiddenNames, self._ws, more.hidden)
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


class _Was(NamedTuple):
    inode: int
    links: int


class _HiddenNames:
    """The hidden files of a workspace before a command, to find new names under which the next one could read them."""

    def __init__(self, ws: Path, hidden: Sequence[Path]) -> None:
        self._ws = ws
        self._before = {path: _Was(s.st_ino, s.st_nlink) for path in _files(hidden) if (s := _status(path)) is not None}

    def new(self) -> list[Path]:
        """Return the new names: those of moved files and hard links."""
        if not any(self._has_another_name(path, was) for path, was in self._before.items()):
            return []
        return sorted(_names_of(self._ws, {was.inode for was in self._before.values()}, self._before))

    def _has_another_name(self, path: Path, was: _Was) -> bool:
        now = _status(path)
        return now is None or now.st_ino != was.inode or now.st_nlink > was.links


def _files(places: Sequence[Path]) -> Iterator[Path]:
    waiting, seen = list(places), 0
    while waiting and seen < _MOST_ENTRIES:
        path = waiting.pop()
        seen += 1
        status = _status(path)
        if status is not None and stat.S_ISDIR(status.st_mode):
            try:
                waiting += path.iterdir()
            except OSError:
                continue
        elif status is not None and stat.S_ISREG(status.st_mode):
            yield path


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except OSError:
        return None


def _names_of(ws: Path, inodes: Container[int], but: Container[Path]) -> Iterator[Path]:
    """Yield each name of these inodes in the workspace, except for the known names. Links are not followed."""
    waiting, seen = [str(ws)], 0
    while waiting and seen < _MOST_ENTRIES:
        try:
            with os.scandir(waiting.pop()) as listing:
                for entry in listing:
                    seen += 1
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif entry.inode() in inodes and Path(entry.path) not in but:
                        yield Path(entry.path)
        except OSError:
            continue
