"""Note which files of a view programs open while checks run in it. This only orders what a person is asked.

Not seen are `stat`, `readlink`, and files that are opened by another name.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ...host.inotify import (
    CREATED,
    IS_FOLDER,
    MOVED_IN,
    NO_LONGER_WATCHED,
    OPENED,
    OVERFLOW,
    add_watch,
    open_inotify,
    read_events,
    remove_watch,
)
from ..scope.source_names import is_dependency_folder

_MOST = 200_000
"""Folders that are watched."""
_DEEPEST = 100
"""Depth of nested folders that are watched."""


class OpenedFiles:
    """The files below a folder that existed at first and that programs open. A thread notes them until `stop`."""

    def __init__(self, root: Path) -> None:
        """`root`: how this process reaches the folder. Reads the names of all folders in it."""
        self._found, self._made = set[tuple[int, bytes]](), set[tuple[int, bytes]]()
        """Files by the number of the watch of their folder, and their name."""
        self._folders = dict[int, str]()
        self._descriptor = -1
        self._thread: threading.Thread | None = None
        folders = _folders(str(root))
        self._is_all = not folders or not self._watches(root, folders)
        """Whether any file may have been opened, because the system has no more watches, or dropped reports."""
        if not self._is_all:
            self._thread = threading.Thread(target=self._note, name="opened files", daemon=True)
            self._thread.start()

    def stop(self) -> frozenset[str] | None:
        """Stop noting, and return the paths.

        Returns None if anything may have been opened. A second call returns the same.
        """
        if self._thread is not None:
            with suppress(OSError):  # the folder itself was deleted: the thread has ended
                remove_watch(self._descriptor, self._top)
            self._thread.join()
            self._thread = None
            os.close(self._descriptor)
        if self._is_all:
            return None
        return frozenset(f"{self._folders[watch]}/{os.fsdecode(name)}".lstrip("/") for watch, name in self._found)

    @property
    def _top(self) -> int:
        return next(iter(self._folders))

    def _watches(self, root: Path, folders: Sequence[str]) -> bool:
        """Watch these folders. Returns whether the system has a watch for each."""
        try:
            self._descriptor = open_inotify(blocks=True)
        except OSError:
            return False
        try:
            for folder in folders:
                self._folders[add_watch(self._descriptor, root / folder, OPENED | MOVED_IN | CREATED)] = folder
        except OSError:
            os.close(self._descriptor)
            return False
        return True

    def _note(self) -> None:
        top = self._top
        while True:
            for watch, mask, name in read_events(self._descriptor):
                if mask & OVERFLOW:
                    self._is_all = True
                    return
                if mask & NO_LONGER_WATCHED and watch == top:
                    return
                if mask & (MOVED_IN | CREATED):
                    self._made.add((watch, name))
                elif mask & OPENED and not mask & IS_FOLDER and (watch, name) not in self._made:
                    self._found.add((watch, name))


def _folders(root: str) -> list[str]:
    """Return the folders that are watched, relative to the root, which is the first; none: too many, or too deep."""
    found, waiting = list[str](), [""]
    while waiting:
        folder = waiting.pop()
        if len(found) == _MOST or folder.count("/") > _DEEPEST:
            return []
        found.append(folder)
        name, names = folder.rpartition("/")[2], list[str]()
        if not is_dependency_folder(name):
            with suppress(OSError), os.scandir(f"{root}/{folder}") as listing:
                names = [entry.name for entry in listing if entry.is_dir(follow_symlinks=False)]
        waiting += [f"{folder}/{inner}".lstrip("/") for inner in names if (name, inner) != (".git", "objects")]
    return found
