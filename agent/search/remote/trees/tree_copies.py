"""Copies of workspaces on a worker. Each work has a copy of its own, made equal to the tree before it begins."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from .tree_store import Missing, PieceStore

if TYPE_CHECKING:
    from .tree_manifest import ManifestEntry

_Stamp = tuple[int, int, int, int, int]


class Copy:
    """One copy. Files that nobody changed since they were written are not written again."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._written: dict[str, tuple[ManifestEntry, _Stamp]] = {}
        root.mkdir()

    def make_equal(self, entries: Mapping[str, ManifestEntry], store: PieceStore) -> None:
        """Make the folder have exactly these files. Raises OSError, Missing."""
        folders = {parent for path in entries for parent in _parents(path)}
        kept = self._clean(self.root, "", entries, folders)
        self._written = {path: self._written[path] for path in kept}
        for path, entry in entries.items():
            if path in kept:
                continue
            file = self.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            _write(file, entry, store)
            self._written[path] = entry, _stamp(file.lstat())

    def _clean(self, folder: Path, below: str, entries: Mapping[str, ManifestEntry], folders: set[str]) -> set[str]:
        """Remove what does not belong to the tree or was changed. Returns the files that are right."""
        kept: set[str] = set()
        for found in list(os.scandir(folder)):
            path = f"{below}{found.name}"
            if found.is_dir(follow_symlinks=False):
                if path in folders:
                    kept |= self._clean(folder / found.name, f"{path}/", entries, folders)
                else:
                    shutil.rmtree(found.path)
                continue
            written = self._written.get(path)
            is_right = written is not None and written[0] == entries.get(path)
            if is_right and written is not None and written[1] == _stamp(found.stat(follow_symlinks=False)):
                kept.add(path)
            else:
                os.unlink(found.path)  # noqa: PTH108 - a Path would follow nothing else, and is slower
        return kept


class Copies:
    """The copies of one process. A copy that cannot be made equal is replaced by a new one."""

    def __init__(self, store: PieceStore) -> None:
        self._store = store
        self._free: list[Copy] = []
        self._number = 0

    @asynccontextmanager
    async def holding(self, tree: str) -> AsyncGenerator[Path]:
        """Lend a folder with the files of this tree. Raises OSError, Missing, ValueError."""
        copy = await asyncio.to_thread(self._take, tree)
        try:
            yield copy.root
        finally:
            self._free.append(copy)

    def _take(self, tree: str) -> Copy:
        entries = {entry.path: entry for entry in self._store.entries(tree)}
        copy = self._free.pop() if self._free else self._new()
        try:
            copy.make_equal(entries, self._store)
        except Missing:
            self._free.append(copy)
            raise
        except OSError:  # for example a folder that a check made unreadable
            shutil.rmtree(copy.root, ignore_errors=True)
            copy = self._new()
            copy.make_equal(entries, self._store)
        return copy

    def _new(self) -> Copy:
        self._number += 1
        return Copy(self._store.folder / f"copy-{os.getpid()}-{self._number}")


def _write(file: Path, entry: ManifestEntry, store: PieceStore) -> None:
    if entry.kind == "link":
        file.symlink_to(entry.target)
        return
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as opened:
        for piece in entry.pieces:
            opened.write(store.get(piece))
    file.chmod(0o755 if entry.kind == "program" else 0o644)


def _parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


def _stamp(status: os.stat_result) -> _Stamp:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, stat.S_IMODE(status.st_mode)
