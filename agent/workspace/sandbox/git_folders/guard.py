"""How a command that writes to the workspace itself sees git folders, and which repositories appeared meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from .nested import NestedGit, Repositories, new_ones

MOST_READ_ONLY = 200
"""Maximum number of nested git folders that get a mount: each one delays the start of a command by 1 ms."""


class GitMounts(msgspec.Struct, frozen=True):
    """How a command sees the repositories of the workspace."""

    is_writable: bool = False
    """Whether it can write to the repository of the workspace, except to its settings and hooks."""
    read_only: list[Path] = []
    """Nested git folders that are mounted read-only."""
    before: list[NestedGit] = []
    """All nested repositories before the command."""


class GitGuard:
    """The git folders of one workspace, for all commands of a run. Its methods block: call them in a thread."""

    def __init__(self, ws: Path) -> None:
        self._ws = ws
        self._repositories = Repositories(ws)

    def begin(self, writable: Sequence[Path]) -> GitMounts:
        """Prepare a command; call `end` later. `writable`: places that the command may also write to."""
        before = self._repositories.find()
        nested = [_folder_of(one) for one in before if one.path.parent != self._ws]
        nested = [path for path in nested if not any(_meet(path, place) for place in writable)]
        return GitMounts(is_writable=True, read_only=nested[:MOST_READ_ONLY], before=before)

    def end(self, mounts: GitMounts, writable: Sequence[Path]) -> tuple[list[str], list[Path]]:
        """Return a line if not all folders were looked at, and the new repositories, which stay as they are."""
        new = new_ones(mounts.before, self._repositories.find())
        made = [one.path for one in new if not any(_meet(_folder_of(one), place) for place in writable)]
        if self._repositories.is_complete:
            return [], made
        return ["the workspace has too many folders: rundry did not look for git folders in all of them"], made


def _folder_of(one: NestedGit) -> Path:
    """Return the path to mount read-only: the git folder or file, or the whole bare repository."""
    return one.path.parent if one.path.name == "HEAD" else one.path


def _meet(path: Path, place: Path) -> bool:
    return path.is_relative_to(place) or place.is_relative_to(path)
