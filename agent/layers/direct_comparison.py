"""What a command changed where there are no layers: one comparison of the workspace before and after it.

Files are compared by what the kernel alone sets (inode, change time) and by size, without limits, and nothing of their
bytes is stored. A file that only got another change time counts as changed unless its digest was taken before. A second
write to memory that is mapped from a file, and was dirty before, is not seen.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import sys
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import NamedTuple

import msgspec

from .layer_effects import Effect, Kind, Side, is_same
from .open_below import FOLDER, open_below

LONGEST_TICK = 2_100_000_000
"""Nanoseconds. A file that changed so shortly before the comparison may change again without another change time."""
_PIECE = 1 << 20
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY


class PathEntry(NamedTuple):
    """What is at a path."""

    side: Side
    device: int
    links: int


class Tree(NamedTuple):
    """The files, links and folders of a workspace at one time, also those that lie on other file systems."""

    entries: dict[bytes, PathEntry]
    unread: list[str]
    """Folders that could not be listed."""
    special: list[str]
    """FIFOs, sockets and devices, which are not compared."""


def read_tree(
    workspace: Path,
    *,
    only: Collection[str] = ("",),
    skipped: Collection[str] = (),
    digested: Collection[str] = (),
    settled: bool = False,
) -> Tree:
    """Read a workspace. Raises OSError if it cannot be opened.

    `only`: the folders that are read; the workspace itself is the empty string. `skipped`: folders that are left out,
    such as rundry's own. `digested`: files whose bytes are read too, so that a new change time alone is not a change.
    `settled`: no file can change any more in the tick of its change time, or the result is compared with an earlier
    reading alone; else the bytes of files that have just changed are read.
    """
    found, leave = Tree({}, [], []), {os.fsencode(path) for path in skipped}
    reads = {os.fsencode(path) for path in digested}
    fresh_ns = sys.maxsize if settled else time.time_ns() - LONGEST_TICK
    root = os.open(workspace, FOLDER | os.O_CLOEXEC)
    try:
        waiting = [os.fsencode(path) for path in only]
        while waiting:
            folder = waiting.pop()
            try:
                opened = open_below(root, folder, FOLDER, enters_mounts=True)
            except OSError:
                if folder in found.entries or not folder:
                    found.unread.append(os.fsdecode(folder))
                continue
            try:
                waiting += _read_folder(opened, folder, found, leave, reads, fresh_ns)
            finally:
                os.close(opened)
    finally:
        os.close(root)
    return found


def changes(workspace: Path, before: Tree, after: Tree, reads: Callable[[str], bool] = lambda _: True) -> list[Effect]:
    """Return what differs between two readings, sorted by path. Raises OSError if the workspace cannot be opened.

    `reads`: whether the bytes of a file that was added or changed are read. The digest of `before` is empty if the file
    was not read then. What lies in a folder that could not be listed at one of the times is not known: the folder is a
    conflict, once.
    """
    found = list[Effect]()
    hidden = {os.fsencode(path) for path in {*before.unread} ^ {*after.unread}}
    unknown = {os.fsencode(path) for path in {*before.unread, *after.unread}}
    root = os.open(workspace, FOLDER | os.O_CLOEXEC)
    try:
        for path in before.entries.keys() | after.entries.keys():
            old, new = before.entries.get(path), after.entries.get(path)
            if path in hidden and new is not None:
                found.append(_effect(path, old, new.side, "what is in it cannot be listed"))
            elif not _is_below(path, unknown):
                name = os.fsdecode(path)
                now = None if new is None else _read_if(new.side, root, path, bool(old and old.side.digest))
                if old is not None and new is not None and now is not None and _is_untouched(old, new, now):
                    continue
                now = None if now is None else _read_if(now, root, path, reads(name))
                found.append(_effect(path, old, now))
    finally:
        os.close(root)
    return sorted(found, key=lambda one: one.path)


def _effect(path: bytes, old: PathEntry | None, now: Side | None, conflict: str = "") -> Effect:
    was = None if old is None else old.side
    kind: Kind = "added" if was is None else "deleted" if now is None else "changed"
    inode, links = (0, 1) if old is None else (old.side.inode, old.links)
    name = os.fsdecode(path)
    return Effect(path=name, kind=kind, before=was, after=now, inode=inode, links=links, conflict=conflict)


def _is_below(path: bytes, folders: set[bytes]) -> bool:
    while folders and path:
        path = path.rpartition(b"/")[0]
        if path in folders:
            return True
    return False


def _read_if(side: Side, root: int, path: bytes, wanted: bool) -> Side:
    if side.type != "file" or side.digest or not wanted:
        return side
    return msgspec.structs.replace(side, digest=digest_of_file(root, path))


def _is_untouched(old: PathEntry, new: PathEntry, now: Side) -> bool:
    """Return whether an entry is as it was. `now`: the new side, with a digest if the old one has one."""
    if old.side.type == now.type == "folder":
        return True
    if old.side.digest and now.digest:
        return is_same(old.side, now)
    facts = [(one.type, one.inode, one.ctime_ns, one.mtime_ns, one.size, one.executable) for one in (old.side, now)]
    return old.device == new.device and facts[0] == facts[1]


def _read_folder(
    opened: int, folder: bytes, found: Tree, leave: set[bytes], reads: set[bytes], fresh_ns: int
) -> list[bytes]:
    """Add what is in an open folder. Return the folders in it. `fresh_ns`: files that changed since then are read."""
    inner = list[bytes]()
    with os.scandir(opened) as listing:
        for entry in listing:
            name = os.fsencode(entry.name)
            path = folder + b"/" + name if folder else name
            if path in leave:
                continue
            try:
                status = entry.stat(follow_symlinks=False)
                side = _side(opened, name, status, is_read=path in reads or status.st_ctime_ns >= fresh_ns)
            except OSError:  # it was removed or replaced meanwhile
                continue
            if side is None:
                found.special.append(os.fsdecode(path))
                continue
            found.entries[path] = PathEntry(side, status.st_dev, status.st_nlink)
            if side.type == "folder":
                inner.append(path)
    return inner


def _side(folder: int, name: bytes, status: os.stat_result, *, is_read: bool) -> Side | None:
    """Return what an entry is. None means a FIFO, a socket or a device."""
    mode, mtime, inode = status.st_mode, status.st_mtime_ns, status.st_ino
    if stat.S_ISDIR(mode):
        return Side(type="folder", inode=inode)
    if stat.S_ISLNK(mode):
        target = os.readlink(name, dir_fd=folder)
        digest = hashlib.sha256(target).hexdigest()
        return Side(type="link", digest=digest, size=len(target), mtime_ns=mtime, inode=inode)
    if not stat.S_ISREG(mode):
        return None
    return Side(
        type="file",
        digest=digest_of_file(folder, name) if is_read else "",
        size=status.st_size,
        executable=bool(mode & stat.S_IXUSR),
        mtime_ns=mtime,
        inode=inode,
        ctime_ns=status.st_ctime_ns,
        mode=stat.S_IMODE(mode) & 0o777,
    )


def bytes_of(folder: int, path: bytes, limit: int) -> bytes | None:
    """Return the bytes of a file of at most this size, or the target of a link, or None if it cannot be read so."""
    try:
        file = open_below(folder, path, _FILE, enters_mounts=True)
    except OSError as error:
        return _target(folder, path) if error.errno == errno.ELOOP else None
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return None
        with os.fdopen(os.dup(file), "rb") as opened:
            data = opened.read(limit + 1)
    except OSError:
        return None
    finally:
        os.close(file)
    return data if len(data) <= limit else None


def _target(folder: int, path: bytes) -> bytes | None:
    above, _, name = path.rpartition(b"/")
    try:
        opened = open_below(folder, above, FOLDER, enters_mounts=True)
        try:
            return os.readlink(name, dir_fd=opened)
        finally:
            os.close(opened)
    except OSError:
        return None


def digest_of_file(folder: int, path: bytes) -> str:
    """Return the digest of a file, or empty if it cannot be read."""
    found = hashlib.sha256()
    try:
        file = open_below(folder, path, _FILE, enters_mounts=True)
    except OSError:
        return ""
    try:
        while piece := os.read(file, _PIECE):
            found.update(piece)
    except OSError:
        return ""
    finally:
        os.close(file)
    return found.hexdigest()
