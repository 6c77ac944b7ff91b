"""Find further names of hidden files in the workspace, because the next command could read the files there."""

from __future__ import annotations

import os
import stat
from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

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


def _names_of(ws: Path, inodes: Container[int], but: Container[Path]) -> Iterator[Path]:
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
                        yield Path(entry.path)
        except OSError:
            continue
