"""Write a stored tree into an empty folder."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ..snapshots.objects import FOLDER, LARGE, LINK, Entry, ObjectStore


def write_tree(store: ObjectStore, tree: str, folder: Path) -> list[str]:
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


def _write(store: ObjectStore, entry: Entry, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    data = store.blob(entry.sha)
    if entry.mode == LINK:
        place.symlink_to(os.fsdecode(data))
        return
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        os.fchmod(descriptor, stat.S_IMODE(entry.mode))
