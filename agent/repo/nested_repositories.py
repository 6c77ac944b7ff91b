"""Find git folders, git files and bare repositories below a workspace, which the user's git commands may read."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ..host.protected_names import folded_name
from .refs import stat_of

MOST_FOLDERS = 300_000
"""Maximum number of folders that are searched."""
MOST_READ_ONLY = 200
"""Maximum number of nested git folders that get a mount: each one delays the start of a command by 1 ms."""
_BARE = frozenset({"HEAD", "objects", "refs"})


class _Folder(NamedTuple):
    stamp: tuple[int, ...]
    folders: tuple[str, ...]
    found: tuple[str, ...]
    """Names of git folders and git files in it. Empty means that it is a bare repository."""


class Repositories:
    """The repositories below a folder. Unchanged folders are not read again."""

    def __init__(self, ws: Path) -> None:
        self._ws = ws
        self._known: dict[str, _Folder] = {}
        self._lock = threading.Lock()

    def read_only(self, writable: Sequence[Path]) -> list[Path]:
        """Return the git folders, git files and bare repositories to mount read-only, sorted. Blocks.

        `writable`: places that a command may write to.
        """
        nested = [path for path in self._find() if path != self._ws and path.parent != self._ws]
        return [path for path in nested if not any(_meet(path, place) for place in writable)][:MOST_READ_ONLY]

    def _find(self) -> list[Path]:
        with self._lock:
            known, found = dict[str, _Folder](), list[Path]()
            waiting = [str(self._ws)]
            while waiting and len(known) < MOST_FOLDERS:
                place = waiting.pop()
                folder = self._folder(place)
                known[place] = folder
                found += [Path(place) / name for name in folder.found]
                waiting += [f"{place}/{name}" for name in folder.folders]
            self._known = known
            return sorted(found)

    def _folder(self, place: str) -> _Folder:
        stamp = stat_of(place)
        before = self._known.get(place)
        if before is not None and before.stamp == stamp:
            return before
        names, folders, found = set[str](), list[str](), list[str]()
        try:
            with os.scandir(place) as listing:
                for entry in listing:
                    names.add(entry.name)
                    if (
                        len(entry.name) < 9
                        and "g" in entry.name.lower()
                        and folded_name(entry.name) in (".git", "git~1")
                    ):
                        found.append(entry.name)
                    elif entry.is_dir(follow_symlinks=False):
                        folders.append(entry.name)
        except OSError:
            return _Folder((), (), ())
        if names >= _BARE:
            found.append("")
        return _Folder(stamp, tuple(folders), tuple(found))


def _meet(path: Path, place: Path) -> bool:
    return path.is_relative_to(place) or place.is_relative_to(path)
