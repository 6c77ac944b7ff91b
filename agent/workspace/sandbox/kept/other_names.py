"""Remove new hard links of hidden files, because the next command could read the files there."""

from __future__ import annotations

import os
import stat
from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ....system.real_paths import real_path

_MOST = 300_000
"""Maximum number of workspace entries that are searched."""


class _Was(NamedTuple):
    inode: int
    links: int


class HiddenNames:
    """The hidden files of a workspace before a command."""

    def __init__(self, ws: Path, hidden: Sequence[Path]) -> None:
        self._ws = ws
        self._before = {path: _Was(s.st_ino, s.st_nlink) for path in _files(hidden) if (s := _status(path)) is not None}

    def restore(self) -> list[str]:
        """Rename moved files back, and remove new hard links. Return a line for each, also for failures."""
        if not any(self._has_another_name(path, was) for path, was in self._before.items()):
            return []
        places = {was.inode: path for path, was in self._before.items()}
        lines = list[str]()
        for inode, name in list(_names_of(self._ws, places, self._before)):
            try:
                self._rename_back(name, places[inode])
            except OSError as error:
                why = error.strerror or error
                lines.append(f"{name.relative_to(self._ws)} is a name of a hidden file, and cannot be removed: {why}")
            else:
                lines.append(f"{name.relative_to(self._ws)} was a name of a hidden file: restored")
        return lines

    def _has_another_name(self, path: Path, was: _Was) -> bool:
        now = _status(path)
        return now is None or now.st_ino != was.inode or now.st_nlink > was.links

    def _rename_back(self, name: Path, place: Path) -> None:
        if real_path(name.parent) != name.parent:
            raise NotADirectoryError("a folder on its path is a link")
        if os.path.lexists(place):
            name.unlink()
            return
        if not real_path(place.parent).is_relative_to(self._ws):
            raise NotADirectoryError("a folder on its path is a link")
        place.parent.mkdir(parents=True, exist_ok=True)
        name.rename(place)


def _files(places: Sequence[Path]) -> Iterator[Path]:
    waiting, seen = list(places), 0
    while waiting and seen < _MOST:
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


def _names_of(ws: Path, inodes: Container[int], but: Container[Path]) -> Iterator[tuple[int, Path]]:
    """Yield each name of these inodes in the workspace, except for the known names. Links are not followed."""
    waiting, seen = [str(ws)], 0
    while waiting and seen < _MOST:
        try:
            with os.scandir(waiting.pop()) as listing:
                for entry in listing:
                    seen += 1
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif entry.inode() in inodes and Path(entry.path) not in but:
                        yield entry.inode(), Path(entry.path)
        except OSError:
            continue
