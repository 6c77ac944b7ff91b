"""Read what a run of an older version stored of its workspace, next to its journal, for undo and `verify`."""

from __future__ import annotations

import asyncio
import os
import stat
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from .loose_objects import FOLDER, LARGE, LINK, ObjectStore, TreeEntry
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
            return _write_tree(self._store, tree, folder)

    def _parent_folders(self, tree: str, paths: Sequence[str]) -> frozenset[str]:
        on_the_way = {str(folder) for path in paths for folder in PurePosixPath(path).parents}
        with self._lock:
            found = ((folder, self._find(tree, folder)) for folder in on_the_way)
            return frozenset(folder for folder, entry in found if entry is not None and entry.mode == FOLDER)

    def _version(self, entry: TreeEntry | None) -> FileVersion | None:
        """Return the state of a file; None for a folder or a missing entry."""
        if entry is None or entry.mode == FOLDER:
            return None
        return StoredVersion(entry.sha, entry.mode, store=self._store)

    def _find(self, tree: str, path: str) -> TreeEntry | None:
        """Return the entry of a path, which may be a folder; None if it is not in the tree."""
        entry = TreeEntry(FOLDER, tree) if tree else None
        for part in os.fsencode(path).split(b"/"):
            if entry is None or entry.mode != FOLDER:
                return None
            entry = self._store.tree(entry.sha).get(part)
        return entry


class StoredVersion(FileVersion, frozen=True, kw_only=True):
    """A file or link as a snapshot has it."""

    store: ObjectStore

    def load(self) -> bytes:
        """Return its bytes, or the target of the link. Raises SnapshotDamaged."""
        return self.store.blob(self.sha)


def _write_tree(store: ObjectStore, tree: str, folder: Path) -> list[str]:
    """Write all files of the tree. Return the paths that were too large to store. Raises SnapshotDamaged, OSError."""
    large: list[str] = []
    waiting = [("", tree)]
    while waiting:
        below, sha = waiting.pop()
        for name, entry in store.tree(sha).items():
            path = below + os.fsdecode(name)
            if entry.mode == FOLDER:
                waiting.append((f"{path}/", entry.sha))
            elif entry.mode == LARGE:
                large.append(path)
            else:
                _write(store, entry, folder / path)
    return sorted(large)


def _write(store: ObjectStore, entry: TreeEntry, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    data = store.blob(entry.sha)
    if entry.mode == LINK:
        place.symlink_to(os.fsdecode(data))
        return
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        os.fchmod(descriptor, stat.S_IMODE(entry.mode))
