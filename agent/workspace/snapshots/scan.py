"""Store the workspace as a tree of objects. Only files whose stat fields changed are hashed."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias, cast

from ..files.states import LIMIT
from ..ignore import Ignore
from ..names import why_cautioned
from .objects import FOLDER, LARGE, LINK, Entry, ObjectStore, blob_id

MOST_FILES = 30_000
MOST_BYTES = 500_000_000
_RACY_NS = 50_000_000
"""A file that changed this recently before it was read may change again within one tick of the clock."""
_COARSE_NS = 2_100_000_000
"""The same for a file system that stores whole seconds (FAT: two)."""


_Scan: TypeAlias = "Generator[_Scan, _Folder, _Folder]"
"""The scan of one folder; it yields the scans of its subfolders and receives their results."""


class TooLarge(Exception):
    """The workspace is larger than a snapshot can store; the message says which limit is exceeded."""


def measure(root: Path, most_files: int = MOST_FILES, skipped: frozenset[str] = frozenset()) -> None:
    """Count the files and bytes that a scan would store, without reading files. Raises TooLarge, like a scan.

    `skipped`: absolute folders and files that are not counted.
    """
    ignore, size, waiting = Ignore(root), _Size(most_files), [""]
    while waiting:
        path = waiting.pop()
        ignore.refresh(path)
        for entry in _listing(f"{root}/{path}"):
            is_folder = entry.is_dir(follow_symlinks=False)
            if f"{root}/{path}{entry.name}" in skipped or _is_ignored(ignore, path, entry.name, is_folder):
                continue
            if is_folder:
                waiting.append(f"{path}{entry.name}/")
                continue
            size.count(1)
            with suppress(FileNotFoundError):
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode) and status.st_size <= LIMIT:
                    size.weigh(status.st_size)


class Scanner:
    """Scans a workspace, and remembers its files, so that the next scan needs one stat call per file."""

    def __init__(self, root: Path, store: ObjectStore, skipped: frozenset[str], most_files: int) -> None:
        """`skipped`: absolute folders and files that are not scanned."""
        self._root, self._store, self._skipped = str(root), store, skipped
        self._most_files = most_files
        self._ignore = Ignore(root)
        self._top: _Folder | None = None
        self._size = _Size(most_files)

    def scan(self) -> str:
        """Return the id of the tree as it is now. Raises TooLarge, and OSError if the store cannot be written."""
        self._size = _Size(self._most_files)
        self._top = _run(self._folder("", self._top))
        return self._top.sha or self._store.put_tree({})

    def _folder(self, path: str, old: _Folder | None) -> _Scan:
        """Return the present content, as the same object if nothing below the folder changed."""
        if self._ignore.refresh(path):
            old = None
        mark = _folder_mark(f"{self._root}/{path}")
        if old is not None and mark is not None and mark == old.mark:
            return (yield self._known_names(path, old))
        seen = _Folder(mark)
        for entry in _listing(f"{self._root}/{path}"):
            name = entry.name
            inside = entry.is_dir(follow_symlinks=False)
            if self._left_out(path, name, inside):
                continue
            if inside:
                seen.folders[name] = yield self._folder(f"{path}{name}/", old.folders.get(name) if old else None)
            else:
                self._look(path, name, old.files.get(name) if old else None, seen)
        return self._settled(seen, old)

    def _left_out(self, path: str, name: str, is_folder: bool) -> bool:
        return f"{self._root}/{path}{name}" in self._skipped or _is_ignored(self._ignore, path, name, is_folder)

    def _known_names(self, path: str, old: _Folder) -> _Scan:
        """Scan a folder whose names did not change, with one stat call per file."""
        self._size.count(len(old.files))
        folders = dict[str, _Folder]()
        for name, child in old.folders.items():
            folders[name] = yield self._folder(f"{path}{name}/", child)
        prefix, lstat = f"{self._root}/{path}", os.lstat
        moved: dict[str, _File | None] = {}
        for name, known in old.files.items():
            try:
                status = lstat(prefix + name)
            except OSError:
                moved[name] = None
                continue
            if status.st_ctime_ns != known.ctime or known.racy or status.st_ino != known.ino:
                found = self._read(prefix + name, status, known)
                if found is not known:
                    moved[name] = found
        if not moved and folders == old.folders:
            return old
        seen = _Folder(old.mark)
        seen.folders = folders
        seen.files = {name: known for name, known in {**old.files, **moved}.items() if known is not None}
        return self._settled(seen, old)

    def _settled(self, seen: _Folder, old: _Folder | None) -> _Folder:
        if old is not None and seen.files == old.files and seen.folders == old.folders:
            old.mark = seen.mark
            return old
        entries = {os.fsencode(name): known.entry for name, known in seen.files.items()}
        for name, child in seen.folders.items():
            if child.sha is not None:
                entries[os.fsencode(name)] = Entry(FOLDER, child.sha)
        seen.sha = self._store.put_tree(entries) if entries else None
        return seen

    def _look(self, path: str, name: str, known: _File | None, seen: _Folder) -> None:
        self._size.count(1)
        whole = f"{self._root}/{path}{name}"
        try:
            status = os.lstat(whole)
        except OSError:
            return
        if known is None or status.st_ctime_ns != known.ctime or status.st_ino != known.ino or known.racy:
            known = self._read(whole, status, known)
        if known is not None:
            seen.files[name] = known

    def _read(self, path: str, status: os.stat_result, known: _File | None) -> _File | None:
        now = time.time_ns()
        found = entry_of(path, status, self._store)
        if found is None:
            return None
        if found.mode != LARGE:
            self._size.weigh(status.st_size)
        racy = _is_racy(status.st_ctime_ns, now)
        if known is not None and known.entry == found:
            known.ctime, known.ino, known.racy = status.st_ctime_ns, status.st_ino, racy
            return known
        return _File(status.st_ctime_ns, status.st_ino, found, racy)


def _run(scan: _Scan) -> _Folder:
    """Run a scan to its end, without recursion, because folders may be nested deeper than Python's stack."""
    stack = [scan]
    found: _Folder | None = None
    while True:
        try:
            inner = stack[-1].send(found) if found is not None else next(stack[-1])
        except StopIteration as end:
            stack.pop()
            found = cast("_Folder", end.value)
            if not stack:
                return found
        else:
            stack.append(inner)
            found = None


class _Size:
    """Number of files and bytes of one scan so far."""

    def __init__(self, most_files: int) -> None:
        self._most_files = most_files
        self._files = self._bytes = 0

    def count(self, files: int) -> None:
        self._files += files
        if self._files > self._most_files:
            raise TooLarge(f"the workspace has more than {self._most_files:,} files that are not ignored")

    def weigh(self, size: int) -> None:
        self._bytes += size
        if self._bytes > MOST_BYTES:
            raise TooLarge(f"the workspace has more than {MOST_BYTES // 1_000_000:,} MB that are not ignored")


def _is_ignored(ignore: Ignore, path: str, name: str, is_folder: bool) -> bool:
    """Return whether a file is left out: it is ignored, and no program loads it by itself."""
    return ignore.ignores_entry(path, name, is_folder) and (is_folder or why_cautioned((name,)) is None)


def _listing(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as listing:
            return list(listing)
    except OSError:  # removed meanwhile or not readable: treated as empty
        return []


class _File:
    """The last known state of a file or link. Each change updates its change time (inode(7)), unlike mtime and size."""

    __slots__ = ("ctime", "entry", "ino", "racy")

    def __init__(self, ctime: int, ino: int, entry: Entry, racy: bool) -> None:
        self.ctime, self.ino, self.entry, self.racy = ctime, ino, entry, racy


class _Folder:
    __slots__ = ("files", "folders", "mark", "sha")

    def __init__(self, mark: tuple[int, int] | None) -> None:
        self.mark = mark
        self.files: dict[str, _File] = {}
        self.folders: dict[str, _Folder] = {}
        self.sha: str | None = None


def _folder_mark(path: str) -> tuple[int, int] | None:
    """Return a mark that changes when names in the folder change; None: it is too recent to be reliable."""
    now = time.time_ns()
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return None if _is_racy(status.st_ctime_ns, now) else (status.st_ctime_ns, status.st_ino)


def entry_of(path: str, status: os.stat_result, store: ObjectStore | None) -> Entry | None:
    """Return the tree entry of a file or link, and store its content if `store` is given; None: it is neither."""
    mode = status.st_mode
    if stat.S_ISLNK(mode):
        try:
            target = os.fsencode(Path(path).readlink())
        except OSError:
            return None
        return Entry(LINK, _keep(target, store))
    if not stat.S_ISREG(mode):
        return None
    if status.st_size <= LIMIT:
        try:
            with open(path, "rb", opener=_no_follow) as file:
                data = file.read(LIMIT + 1)
        except FileNotFoundError:
            return None
        except OSError:
            data = None
        if data is not None and len(data) <= LIMIT:
            return Entry(_mode(mode), _keep(data, store))
    mark = f"{status.st_size} {status.st_mtime_ns} {status.st_ino}".encode()
    return Entry(LARGE, hashlib.sha1(mark, usedforsecurity=False).hexdigest())


def _keep(data: bytes, store: ObjectStore | None) -> str:
    return store.put_blob(data) if store is not None else blob_id(data)


def _mode(mode: int) -> int:
    """Return the mode of a file with all permissions, because undo restores them. (Git stores only two modes.)"""
    return stat.S_IFREG | stat.S_IMODE(mode)


def _is_racy(ctime_ns: int, read_ns: int) -> bool:
    return ctime_ns > read_ns - (_RACY_NS if ctime_ns % 1_000_000_000 else _COARSE_NS)


def _no_follow(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
