"""A copy of the workspace for a pass, try or item, where there are no layers.

It is made equal to the workspace before each unit: what differs by inode, change time and size, in the workspace or in
the copy, is copied again, with shared blocks where the file system has them. The copy is read as the work of somebody
hostile.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import tempfile
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from .direct import Entry, Tree, changes, digest_of, read_tree
from .effects import Effect, Side, status_at
from .layer import next_tick
from .opening import FOLDER, give_rights, open_below
from .removing import remove_tree

_CLONE = 0x40049409
"""FICLONE of linux/fs.h: a file that shares the blocks of another one."""
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_PIECE = 1 << 30


class Size(NamedTuple):
    """What a copy takes."""

    files: int
    size: int
    """Bytes, holes included."""
    shares: bool
    """Whether the blocks are shared with the workspace, so that they take no room until they are changed."""


def size_of(workspace: Path, place: Path, *, skipped: Collection[str] = ()) -> Size:
    """Return what a copy of the workspace in an existing folder would take. Raises OSError."""
    files = [one.side for one in read_tree(workspace, skipped=skipped).entries.values()]
    return Size(len(files), sum(one.size for one in files), _shares(workspace, place))


def _shares(workspace: Path, place: Path) -> bool:
    """Try whether a new file in `place` can share blocks with one that is on the workspace's file system."""
    if workspace.stat().st_dev != place.stat().st_dev:
        return False
    with tempfile.TemporaryFile(dir=place) as one, tempfile.TemporaryFile(dir=place) as other:
        one.write(b"1")
        one.flush()
        return _clone(one.fileno(), other.fileno())


class Copy:
    """A copy in a folder of its own, which it removes at first if it exists."""

    def __init__(self, folder: Path, workspace: Path, *, skipped: Collection[str] = ()) -> None:
        """`skipped`: folders of the workspace that are not copied. Raises OSError."""
        self.folder, self._workspace, self._skipped = folder, workspace, skipped
        with suppress(FileNotFoundError):
            remove_tree(folder)
        folder.mkdir(mode=0o700, parents=True)
        self._source, self._own = Tree({}, [], []), Tree({}, [], [])

    def refresh(self) -> int:
        """Make it equal to the workspace. Return the number of paths that were copied or deleted. Raises OSError.

        No process may work in it. What cannot be read in the workspace is left out.
        """
        source = read_tree(self._workspace, skipped=self._skipped)
        own = self._now()
        differing = {os.fsencode(path) for path in own.special}
        differing |= _touched(self._source, source) | _touched(self._own, own)
        with _Folders(self._workspace, self.folder) as folders:
            for path in sorted(differing, reverse=True):
                folders.delete(path, source)
            for path in sorted(differing & source.entries.keys()):
                folders.copy(path, source.entries[path].side)
        stamp = self.folder.with_name(f"{self.folder.name}.stamp")
        next_tick(stamp)  # what is changed in the copy from now on gets a later change time
        stamp.unlink()
        self._source, self._own = source, self._now()
        return len(differing)

    def effects(self) -> list[Effect]:
        """Return what was changed in it since it was refreshed. `before` is what the workspace has. Raises OSError."""
        found = list[Effect]()
        live = os.open(self._workspace, FOLDER | os.O_CLOEXEC)
        try:
            for one in changes(self.folder, self._own, self._now()):
                before, conflict = self._before(live, os.fsencode(one.path))
                kind = "added" if before is None else "deleted" if one.after is None else "changed"
                inode = 0 if before is None else before.inode
                effect = msgspec.structs.replace(one, kind=kind, before=before, inode=inode, conflict=conflict)
                if before is not None or one.after is not None:
                    found.append(effect)
        finally:
            os.close(live)
        return found

    def drop(self) -> None:
        """Delete the copy and all that a unit wrote in it."""
        remove_tree(self.folder)

    def _now(self) -> Tree:
        """Read the copy, also folders whose rights a command took from their owner. Raises OSError."""
        shut = list[str]()
        while (found := read_tree(self.folder, settled=True)).unread:
            if found.unread == shut:
                raise OSError(errno.EACCES, "it cannot be listed", shut[0])
            shut = found.unread
            with _Folders(self._workspace, self.folder) as folders:
                for path in shut:
                    folders.open_up(os.fsencode(path))
        return found

    def _before(self, live: int, path: bytes) -> tuple[Side | None, str]:
        """Return what the workspace had when the copy was refreshed, and why that may not be known any more."""
        was, now = self._source.entries.get(path), status_at(live, path)
        if was is None:
            return None, "" if now is None else "it was made meanwhile"
        if was.side.type != "file":
            return was.side, "" if now is not None else "it was deleted meanwhile"
        same = now is not None and (now.st_ino, now.st_ctime_ns) == (was.side.inode, was.side.ctime_ns)
        digest = was.side.digest or (digest_of(live, path) if same else "")
        return msgspec.structs.replace(was.side, digest=digest), "" if same else "it changed meanwhile"


def _touched(then: Tree, now: Tree) -> set[bytes]:
    """Return the paths of what was touched at all, times included: programs such as make compare them."""
    return {
        path
        for path in then.entries.keys() | now.entries.keys()
        if _facts(then.entries.get(path)) != _facts(now.entries.get(path))
    }


def _facts(entry: Entry | None) -> tuple[Side, int] | str:
    """Return what a later touch changes. A file that had just changed has a digest, and counts as touched later."""
    if entry is None or entry.side.type == "folder":
        return "" if entry is None else "folder"
    return entry.side, entry.device


class _Folders:
    """The open folders of a workspace and its copy."""

    def __init__(self, source: Path, copy: Path) -> None:
        self._source, self._copy = os.open(source, FOLDER | os.O_CLOEXEC), os.open(copy, FOLDER | os.O_CLOEXEC)

    def __enter__(self) -> _Folders:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._source)
        os.close(self._copy)

    def open_up(self, path: bytes) -> None:
        """Give the owner of a folder in the copy all rights."""
        parent, _, name = path.rpartition(b"/")
        opened = self._parent(parent)
        try:
            give_rights(opened, name, 0o700)
        finally:
            os.close(opened)

    def _parent(self, path: bytes) -> int:
        """Open a folder of the copy in which something is made or deleted; the caller closes it."""
        opened = open_below(self._copy, path, FOLDER)
        os.fchmod(opened, 0o700)
        return opened

    def delete(self, path: bytes, source: Tree) -> None:
        """Delete what the copy has at a path, unless it is a folder in both."""
        at = status_at(self._copy, path)
        if at is None:
            return
        wanted = source.entries.get(path)
        is_folder = stat.S_ISDIR(at.st_mode)
        if is_folder and wanted is not None and wanted.side.type == "folder":
            return
        parent, _, name = path.rpartition(b"/")
        opened = self._parent(parent)
        try:
            if is_folder:
                remove_tree(Path(f"/proc/self/fd/{opened}") / os.fsdecode(name))
            else:
                os.unlink(name, dir_fd=opened)
        finally:
            os.close(opened)

    def copy(self, path: bytes, side: Side) -> None:
        """Copy what the workspace has at a path. What was removed or changed its type meanwhile is left out."""
        parent, _, name = path.rpartition(b"/")
        try:
            opened = self._parent(parent)
        except FileNotFoundError:
            return
        try:
            if side.type == "folder":
                with suppress(FileExistsError):
                    os.mkdir(name, 0o700, dir_fd=opened)
                return
            source = open_below(self._source, parent, FOLDER, enters_mounts=True)
            try:
                if side.type == "link":
                    os.symlink(os.readlink(name, dir_fd=source), name, dir_fd=opened)
                    os.utime(name, ns=(side.mtime_ns, side.mtime_ns), dir_fd=opened, follow_symlinks=False)
                else:
                    _copy_file(source, opened, name)
            finally:
                os.close(source)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.EXDEV, errno.EINVAL):
                raise
        finally:
            os.close(opened)


def _copy_file(source: int, target: int, name: bytes) -> None:
    reading = os.open(name, _READ | os.O_CLOEXEC, dir_fd=source)
    try:
        status = os.fstat(reading)
        if not stat.S_ISREG(status.st_mode):
            return
        writing = os.open(name, _NEW | os.O_CLOEXEC, 0o600, dir_fd=target)
        try:
            if not _clone(reading, writing):
                while os.copy_file_range(reading, writing, _PIECE):
                    pass
            os.fchmod(writing, stat.S_IMODE(status.st_mode) & 0o777)
            os.utime(writing, ns=(status.st_atime_ns, status.st_mtime_ns))
        finally:
            os.close(writing)
    finally:
        os.close(reading)


def _clone(reading: int, writing: int) -> bool:
    try:
        fcntl.ioctl(writing, _CLONE, reading)
    except OSError:
        return False
    return True
