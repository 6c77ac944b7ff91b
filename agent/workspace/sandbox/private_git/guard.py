"""Provide the private git folder of a command, and find the repositories that appeared meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...processes.processes import NewRepository
from .nested import NestedGit, Repositories, move_aside, new_ones
from .private_folder import PrivateGit

if TYPE_CHECKING:
    from ...leftovers.record import Leftovers

MOST_READ_ONLY = 200
"""Maximum number of nested git folders that get a mount: each one delays the start of a command by 1 ms."""


class GitMounts(msgspec.Struct, frozen=True):
    """How a command sees the repositories of the workspace."""

    words: list[str] | None = None
    """bubblewrap arguments for the private git folder. Empty: `.git` is read-only. None: the real one is visible."""
    read_only: list[Path] = []
    """Nested git folders that are mounted read-only."""
    before: list[NestedGit] = []
    """All nested repositories before the command."""


class GitGuard:
    """The git folders of one workspace, for all commands of a run. Its methods block: call them in a thread."""

    def __init__(self, ws: Path, temp: Path, leftovers: Leftovers, *, mounts: bool) -> None:
        """`temp`: an owner-only folder that commands do not see. `mounts`: the sandbox can mount."""
        self._ws = ws
        self._private = PrivateGit(ws, temp, leftovers) if mounts else None
        self._repositories = Repositories(ws)

    def begin(self, writable: Sequence[Path]) -> GitMounts:
        """Prepare a command; call `end` later. `writable`: places that the command may also write to."""
        before = self._repositories.find()
        nested = [_folder_of(one) for one in before if one.path.parent != self._ws]
        nested = [path for path in nested if not any(_meet(path, place) for place in writable)]
        if self._private is None or self._private.concerns(writable):
            return GitMounts(None, nested[:MOST_READ_ONLY], before)
        return GitMounts(self._private.begin(), nested[:MOST_READ_ONLY], before)

    def end(self, mounts: GitMounts, writable: Sequence[Path]) -> tuple[list[str], list[NewRepository]]:
        """Import the changes of the command. Return a line for each problem, and the new repositories.

        New repositories are moved aside if the sandbox has mounts; else they stay (docs/decisions/0036).
        """
        lines = self._private.end() if self._private is not None and mounts.words is not None else []
        made = list[NewRepository]()
        is_compared = self._private is None or mounts.words is None
        for one in new_ones(mounts.before, self._repositories.find(), is_compared=is_compared):
            if any(_meet(_folder_of(one), place) for place in writable):
                continue
            if self._private is None:
                made.append(NewRepository(one.path, None))
                continue
            name = one.path.relative_to(self._ws)
            try:
                aside = move_aside(one)
            except OSError as error:
                lines.append(f"{name} is a new git repository, and cannot be moved: {error.strerror}")
                continue
            made.append(NewRepository(one.path, aside))
            lines.append(f"{name} is a new git repository: moved to {aside.name}, so that git does not enter it")
        if not self._repositories.is_complete:
            lines.append("the workspace has too many folders: rundry did not look for git folders in all of them")
        return lines, made


def _folder_of(one: NestedGit) -> Path:
    """Return the path to mount read-only: the git folder or file, or the whole bare repository."""
    return one.path.parent if one.path.name == "HEAD" else one.path


def _meet(path: Path, place: Path) -> bool:
    return path.is_relative_to(place) or place.is_relative_to(path)
