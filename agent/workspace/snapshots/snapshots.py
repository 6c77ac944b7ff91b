"""Take snapshots of the workspace, compare two of them, and restore files.

They are used to undo changes (also of commands), to roll back a pass, to run checks only after a change, and to detect
that a run repeats an earlier state (docs/architecture.md). They are stored next to the journal, readable only by the
user. The user's `.git` is not used.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Literal

import msgspec

from ..checkout.write_tree import write_tree
from .objects import FOLDER, LARGE, Entry, ObjectStore
from .restore import FileVersion, Restorer
from .scan import MOST_FILES, Scanner, TooLarge, measure

if TYPE_CHECKING:
    from ..paths import Workspace

ChangeKind = Literal[
    "added",
    "removed",
    "changed",
    "mode",  # only the permissions
    "large",  # too large to store
]


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One file that differs between two snapshots."""

    path: str
    """Path relative to the workspace, separated by `/`."""
    kind: ChangeKind
    before: bytes | None
    """The bytes of the file or the target of the link; None if there was no file or it was too large."""
    after: bytes | None
    before_mode: int | None = None
    """Mode as in a git tree, with all permissions: 0o100640, or 0o120000 for a link; None if there was no file."""
    after_mode: int | None = None


class Snapshots:
    """Snapshots of one workspace in a private store. Two snapshots have the same id if and only if they are equal."""

    def __init__(
        self,
        ws: Workspace,
        store: Path,
        *,
        most_files: int = MOST_FILES,
        on_take: Callable[[str], None] = lambda tree: None,
        why_none: str | None = None,
    ) -> None:
        """`store`: the folder of the objects, which is created if it is missing.

        `on_take` is called with the id that `take` returns, in the thread of the caller. `why_none`: the reason why
        this run takes no snapshots.
        """
        self._ws, self._place, self._most_files = ws, store, most_files
        self._lock = threading.Lock()
        self._scanner: Scanner | None = None
        self._objects: ObjectStore | None = None
        self._last = ""
        self._on_take = on_take
        self.too_large = why_none
        """Why there are no snapshots, in one line: the workspace is too large, or the store cannot be written."""

    async def start(self) -> None:
        """Take the first snapshot. If that is not possible, set `too_large`. Does not raise."""
        await asyncio.to_thread(self._take)

    async def take(self) -> str:
        """Take a snapshot and return the id of its tree; empty if there are no snapshots (`too_large`)."""
        tree = await asyncio.to_thread(self._take)
        self._on_take(tree)
        return tree

    def keep(self, data: bytes) -> str:
        """Store other bytes, and return their id. Raises OSError."""
        with self._lock:
            return self._store().put_blob(data)

    def load(self, name: str) -> bytes:
        """Return the bytes that `keep` stored under this id. Raises SnapshotDamaged."""
        with self._lock:
            return self._store().blob(name)

    def fingerprint(self) -> str:
        """Return the id of the last tree that was taken; empty if there is none."""
        return self._last

    async def changes(self, a: str, b: str) -> list[Change]:
        """Return the changes from tree `a` to tree `b`, sorted by path. Raises SnapshotDamaged."""
        return await asyncio.to_thread(self._changes, a, b)

    async def restore(self, tree: str, paths: Sequence[str], *, expected: str | None = None) -> list[str]:
        """Restore files from `tree`. Return a line for each file that was not restored, with the reason.

        A file that differs from the tree `expected` (None: the last one taken) was changed later and is not restored.
        """
        return await asyncio.to_thread(self._restore, tree, paths, expected or self._last)

    async def versions(self, tree: str, paths: Sequence[str]) -> Mapping[str, FileVersion | None]:
        """Return the state of these files in a tree; None for a file that is not in it. Raises SnapshotDamaged."""
        return await asyncio.to_thread(self._versions, tree, paths)

    def has(self, tree: str, path: str) -> bool:
        """Return whether a tree has a file or folder at this path. Raises SnapshotDamaged."""
        with self._lock:
            return _find(self._store(), tree, path) is not None

    async def write_to(self, tree: str, folder: Path) -> list[str]:
        """Write the files of a tree into an empty folder. Return the paths of those that were too large to store.

        Raises SnapshotDamaged, OSError.
        """
        return await asyncio.to_thread(self._write_to, tree, folder)

    async def parent_folders(self, tree: str, paths: Sequence[str]) -> frozenset[str]:
        """Return the parent folders of these files that a tree contains. Raises SnapshotDamaged."""
        return await asyncio.to_thread(self._parent_folders, tree, paths)

    def _take(self) -> str:
        with self._lock:
            if self.too_large:
                return ""
            try:
                if self._scanner is None:
                    private = {*self._ws.skipped, os.path.realpath(self._place)}
                    measure(self._ws.root, self._most_files, frozenset(private))  # before anything is stored
                    self._scanner = Scanner(self._ws.root, self._store(), frozenset(private), self._most_files)
                self._last = self._scanner.scan()
            except TooLarge as error:
                self._give_up(str(error))
            except OSError as error:
                self._give_up(f"the snapshot store {self._place} cannot be written ({error.strerror or error})")
            return self._last

    def _give_up(self, why: str) -> None:
        self.too_large = f"{why}: only the tools' own edits can be undone"
        self._last = ""
        self._scanner = None

    def _store(self) -> ObjectStore:
        if self._objects is None:
            self._objects = ObjectStore(self._place)
        return self._objects

    def _changes(self, a: str, b: str) -> list[Change]:
        with self._lock:
            store = self._store()
            found: list[tuple[bytes, Entry | None, Entry | None]] = []
            _differ(store, a, b, found)
            return [_change(store, *each) for each in sorted(found, key=lambda each: each[0])]

    def _restore(self, tree: str, paths: Sequence[str], expected: str) -> list[str]:
        folders = self._parent_folders(tree, paths)
        restorer = Restorer(self._ws, folders.__contains__)
        want, have = self._versions(tree, paths), self._versions(expected, paths)
        # removals come first, because such a file can block the path of another
        order = sorted(want, key=lambda path: (want[path] is not None, path))
        results = [restorer.restore(path, want[path], have[path]) for path in order]
        return [line for line in results if line is not None]

    def _versions(self, tree: str, paths: Sequence[str]) -> Mapping[str, FileVersion | None]:
        with self._lock:
            store = self._store()
            return {path: _version(store, _find(store, tree, path)) for path in paths}

    def _write_to(self, tree: str, folder: Path) -> list[str]:
        with self._lock:
            return write_tree(self._store(), tree, folder)

    def _parent_folders(self, tree: str, paths: Sequence[str]) -> frozenset[str]:
        on_the_way = {str(folder) for path in paths for folder in PurePosixPath(path).parents}
        with self._lock:
            store = self._store()
            found = ((folder, _find(store, tree, folder)) for folder in on_the_way)
            return frozenset(folder for folder, entry in found if entry is not None and entry.mode == FOLDER)


def _version(store: ObjectStore, entry: Entry | None) -> FileVersion | None:
    """Return the state of a file; None for a folder or a missing entry."""
    if entry is None or entry.mode == FOLDER:
        return None
    return FileVersion(entry.sha, lambda: store.blob(entry.sha), entry.mode)


def _find(store: ObjectStore, tree: str, path: str) -> Entry | None:
    """Return the entry of a path, which may be a folder; None if it is not in the tree."""
    entry = Entry(FOLDER, tree) if tree else None
    for part in os.fsencode(path).split(b"/"):
        if entry is None or entry.mode != FOLDER:
            return None
        entry = store.tree(entry.sha).get(part)
    return entry


def _differ(
    store: ObjectStore, a: str | None, b: str | None, found: list[tuple[bytes, Entry | None, Entry | None]]
) -> None:
    """Add the differing files of two trees to `found`. Equal folders are not read."""
    waiting: list[tuple[str | None, str | None, bytes]] = [(a, b, b"")]
    while waiting:
        one, other, path = waiting.pop()
        if one == other:
            continue
        old, new = store.tree(one) if one else {}, store.tree(other) if other else {}
        for name in old.keys() | new.keys():
            before, after = old.get(name), new.get(name)
            if before == after:
                continue
            was_folder = before is not None and before.mode == FOLDER
            is_folder = after is not None and after.mode == FOLDER
            if was_folder or is_folder:
                inner = before.sha if before and was_folder else None
                waiting.append((inner, after.sha if after and is_folder else None, path + name + b"/"))
            left, right = None if was_folder else before, None if is_folder else after
            if left or right:
                found.append((path + name, left, right))


def _change(store: ObjectStore, path: bytes, before: Entry | None, after: Entry | None) -> Change:
    if LARGE in (before and before.mode, after and after.mode):
        kind = "large"
    elif before is None or after is None:
        kind = "added" if before is None else "removed"
    else:
        kind = "mode" if before.sha == after.sha else "changed"
    return Change(
        path=os.fsdecode(path),
        kind=kind,
        before=store.blob(before.sha) if before and before.mode != LARGE else None,
        after=store.blob(after.sha) if after and after.mode != LARGE else None,
        before_mode=before and before.mode,
        after_mode=after and after.mode,
    )
