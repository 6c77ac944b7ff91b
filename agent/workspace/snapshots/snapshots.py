"""Read what a run of an older version stored of its workspace, next to its journal, for undo and `verify`."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from ..checkout.write_tree import write_tree
from .objects import FOLDER, Entry, ObjectStore
from .restore import FileVersion


class Snapshots:
    """The snapshots of one run. There may be none."""

    def __init__(self, store: Path) -> None:
        """`store`: the folder of the objects."""
        self._store, self._lock = ObjectStore(store), threading.Lock()

    async def versions(self, tree: str, paths: Sequence[str]) -> Mapping[str, FileVersion | None]:
        """Return the state of these files in a tree; None for a file that is not in it. Raises SnapshotDamaged."""
        return await asyncio.to_thread(self._versions, tree, paths)

    def has(self, tree: str, path: str) -> bool:
        """Return whether a tree has a file or folder at this path. Raises SnapshotDamaged."""
        with self._lock:
            return self._find(tree, path) is not None

    async def write_to(self, tree: str, folder: Path) -> list[str]:
        """Write the files of a tree into an empty folder. Return the paths of those that were too large to store.

        Raises SnapshotDamaged, OSError.
        """
        return await asyncio.to_thread(self._write_to, tree, folder)

    async def parent_folders(self, tree: str, paths: Sequence[str]) -> frozenset[str]:
        """Return the parent folders of these files that a tree contains. Raises SnapshotDamaged."""
        return await asyncio.to_thread(self._parent_folders, tree, paths)

    def _versions(self, tree: str, paths: Sequence[str]) -> Mapping[str, FileVersion | None]:
        with self._lock:
            return {path: self._version(self._find(tree, path)) for path in paths}

    def _write_to(self, tree: str, folder: Path) -> list[str]:
        with self._lock:
            return write_tree(self._store, tree, folder)

    def _parent_folders(self, tree: str, paths: Sequence[str]) -> frozenset[str]:
        on_the_way = {str(folder) for path in paths for folder in PurePosixPath(path).parents}
        with self._lock:
            found = ((folder, self._find(tree, folder)) for folder in on_the_way)
            return frozenset(folder for folder, entry in found if entry is not None and entry.mode == FOLDER)

    def _version(self, entry: Entry | None) -> FileVersion | None:
        """Return the state of a file; None for a folder or a missing entry."""
        if entry is None or entry.mode == FOLDER:
            return None
        return FileVersion(entry.sha, lambda: self._store.blob(entry.sha), entry.mode)

    def _find(self, tree: str, path: str) -> Entry | None:
        """Return the entry of a path, which may be a folder; None if it is not in the tree."""
        entry = Entry(FOLDER, tree) if tree else None
        for part in os.fsencode(path).split(b"/"):
            if entry is None or entry.mode != FOLDER:
                return None
            entry = self._store.tree(entry.sha).get(part)
        return entry
