"""Find git folders, git files and bare repositories below a workspace, which the user's git commands may read."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import NamedTuple

from ...names import fold
from ..places import is_real_folder
from .refs import stat_of

MOST_FOLDERS = 300_000
"""Maximum number of folders that are searched."""
_BARE = frozenset({"HEAD", "objects", "refs"})


class NestedGit(NamedTuple):
    """A repository below the workspace."""

    path: Path
    """`.git`, or `HEAD` of a bare repository."""
    inode: int


class _Folder(NamedTuple):
    mark: tuple[int, ...]
    folders: tuple[str, ...]
    found: tuple[str, ...]
    """Names of git folders, git files and bare repositories in it."""


class Repositories:
    """The repositories at and below a folder. Unchanged folders are not read again."""

    def __init__(self, ws: Path) -> None:
        self._ws = str(ws)
        self._known: dict[str, _Folder] = {}
        self._lock = threading.Lock()
        self.is_complete = True
        """False if there are more folders than rundry searches."""

    def find(self) -> list[NestedGit]:
        """Return all repositories, sorted by path."""
        with self._lock:
            known, found = dict[str, _Folder](), list[NestedGit]()
            waiting = [self._ws]
            while waiting and len(known) < MOST_FOLDERS:
                place = waiting.pop()
                folder = self._folder(place)
                known[place] = folder
                for name in folder.found:
                    path = f"{place}/{name}"
                    if mark := stat_of(path):
                        found.append(NestedGit(Path(path), mark[0]))
                waiting += [f"{place}/{name}" for name in folder.folders]
            self._known, self.is_complete = known, not waiting
            return sorted(found)

    def _folder(self, place: str) -> _Folder:
        mark = stat_of(place)
        before = self._known.get(place)
        if before is not None and before.mark == mark:
            return before
        names, folders, found = set[str](), list[str](), list[str]()
        try:
            with os.scandir(place) as listing:
                for entry in listing:
                    names.add(entry.name)
                    if len(entry.name) < 9 and "g" in entry.name.lower() and fold(entry.name) in (".git", "git~1"):
                        found.append(entry.name)
                    elif entry.is_dir(follow_symlinks=False):
                        folders.append(entry.name)
        except OSError:
            return _Folder((), (), ())
        if names >= _BARE:
            found.append("HEAD")
        return _Folder(mark, tuple(folders), tuple(found))


def new_ones(before: list[NestedGit], after: list[NestedGit]) -> list[NestedGit]:
    """Return the repositories that were added. One that moved with its folder is not new.

    Of a git folder at the path of an earlier one, what git executes or reads as settings is compared instead.
    """
    inodes, paths = {one.inode for one in before}, {one.path for one in before}
    new = (one for one in after if one.inode not in inodes)
    return [one for one in new if not (one.path in paths and is_real_folder(one.path))]
