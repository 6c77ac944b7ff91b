"""List the effects of a layer: what differs in it from what lies below, after its last process has ended.

The content of the layer is never trusted: it is read by descriptors, without following a link, with limits. What the
command could set itself (times, attributes, owners) decides nothing. Three things come from the kernel alone: change
times of files in the workspace, inodes, and the marks of the overlay (overlayfs.rst), which a command in it cannot set.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, NamedTuple

import msgspec

from .copy_origin import handle_of, is_copy, is_copy_of, origin_of
from .git.setting_names import NO_GIT, GitPaths
from .open_below import FOLDER, give_rights, open_below

MOST_EFFECTS = 200_000
IN_MEMORY = 1 << 20
"""Bytes of the largest file whose content is handled as a whole; larger ones are moved or copied."""
_LONGEST_PATH = 4_000
"""Bytes of a path; the kernel takes 4,096 (PATH_MAX)."""
OPAQUE = "user.overlay.opaque"
"""The attribute, with the value `y`, of a folder that hides all of the one below it (overlayfs.rst)."""
_PIECE = 1 << 20
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY

Type = Literal["file", "link", "folder"]
Kind = Literal["added", "changed", "deleted"]


class TooMuch(Exception):
    """The layer has more than rundry handles; the message says what."""


class Side(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A file, link or folder on one side of a change."""

    type: Type
    digest: str = ""
    """SHA-256 of the bytes, or of the target of a link; empty for a file whose bytes were not read."""
    size: int = 0
    executable: bool = False
    mtime_ns: int = 0
    inode: int = 0
    ctime_ns: int = 0
    """These two show whether a file was touched since. 0 means that it cannot be read, or it is a link or a folder."""
    mode: int = 0
    """Permissions that a file gets when it has to be made again. 0 means those of a new file."""


class Effect(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One path that differs."""

    path: str
    """Relative, with `/`; bytes that are not UTF-8 as surrogates."""
    kind: Kind
    before: Side | None
    """What lies below now. None means nothing."""
    after: Side | None
    """What the layer has. None means nothing."""
    inode: int = 0
    """Of `before`."""
    links: int = 1
    """Names of `before`; more than one: hard links."""
    conflict: str = ""
    """Why `before` may be newer than what the command saw. Empty means that it is what the command saw."""


class Ground(NamedTuple):
    """What a layer lies on."""

    below: int
    """An open folder with what lies below: the workspace, or a view of the layers below."""
    stamp_ns: int
    """The change time of a file that was written on the same file system right before the layer was mounted."""
    older: Mapping[bytes, int] = MappingProxyType[bytes, int]({})
    """Paths that were written at an earlier mount of the layer, with the stamp of the mount."""
    folders: Mapping[bytes, int] | None = None
    """Inodes of the folders that the commands saw. None means that the overlay has written down which ones it
    copied."""

    def stamp_at(self, path: bytes) -> int:
        """Return the time at which what lies below a path was last seen as it was."""
        return self.older.get(path, self.stamp_ns)


@dataclass(slots=True)
class _Walk:
    upper: int
    ground: Ground
    reads: Callable[[str], bool]
    git: GitPaths
    found: list[Effect] = field(default_factory=list[Effect])
    left_out: list[str] = field(default_factory=list[str])
    _replaced: dict[bytes, int] = field(default_factory=dict[bytes, int])

    def replaced_ns(self, folder: bytes) -> int:
        """Return the newest change time of a folder on this path that is not the one that the command saw.

        Returns 0 if there is none.
        """
        unknown = list[bytes]()
        while folder and folder not in self._replaced:
            unknown.append(folder)
            folder = folder.rpartition(b"/")[0]
        newest = self._replaced.get(folder, 0)
        for one in reversed(unknown):
            newest = self._replaced[one] = max(newest, _replaced_at(self, one))
        return newest

    def add(self, path: bytes, before: Seen | None, after: Side | None, conflict: str) -> None:
        if self.git.own(path):
            return
        kind: Kind = "added" if before is None else "deleted" if after is None else "changed"
        if len(self.found) >= MOST_EFFECTS:
            raise TooMuch(f"it changes more than {MOST_EFFECTS:,} files")
        inode = 0 if before is None else before.status.st_ino
        links = 1 if before is None or before.side.type == "folder" else before.status.st_nlink
        side = None if before is None else before.side
        if before is not None and before.side.type == "file":
            side = msgspec.structs.replace(before.side, mode=stat.S_IMODE(before.status.st_mode) & 0o777)
        name = os.fsdecode(path)
        found = Effect(path=name, kind=kind, before=side, after=after, inode=inode, links=links, conflict=conflict)
        self.found.append(found)


class Seen(NamedTuple):
    """What is at a path."""

    side: Side
    status: os.stat_result


def list_effects(
    upper: int,
    ground: Ground,
    reads: Callable[[str], bool] = lambda _: True,
    git: GitPaths = NO_GIT,
    since_ns: int = 0,
) -> tuple[list[Effect], list[str]]:
    """Return the effects sorted by path, and lines about what is never applied. Raises TooMuch and OSError.

    `upper`: the open folder with what was written. `reads`: whether the bytes of a new file at a path are read; if not,
    it is known by its inode (an install of 30,000 files). `git`: git folders, whose own files are not listed.
    `since_ns`: entries that the layer got before are left out.
    """
    walk = _Walk(upper, ground, reads, git)
    for path, status in written_below(upper):
        if status.st_ctime_ns < since_ns:
            continue
        if stat.S_ISDIR(status.st_mode):
            _compare_folder(walk, path)
        elif not git.own(path):
            _compare(walk, path, status)
    _find_deleted(walk)
    return sorted(walk.found, key=lambda one: one.path), sorted(walk.left_out)


def _compare_folder(walk: _Walk, path: bytes) -> None:
    ground = walk.ground
    before = _lying_below(ground, path)
    if before is None or before.side.type != "folder":
        walk.add(path, before, Side(type="folder"), _conflict(walk, path, before))
    elif is_opaque(walk.upper, path):
        for inner in _below(ground.below, path + b"/"):
            if not _exists(walk.upper, inner):
                _delete(walk, inner, path)


def _compare(walk: _Walk, path: bytes, status: os.stat_result) -> None:
    ground = walk.ground
    is_deleted = is_whiteout(status)
    before = _lying_below(ground, path)
    reads = before is not None or walk.reads(os.fsdecode(path))
    after = None if is_deleted else side_at(walk.upper, path, hashes=reads, status=status)
    if after is None and not is_deleted:
        walk.left_out.append(f"{os.fsdecode(path)}: {_special(status.st_mode)}")
        return
    if before is None and after is None:
        return
    if before is not None and before.side.type == "folder":
        for inner in _below(ground.below, path + b"/"):
            _delete(walk, inner, path)
    if after is None:
        _delete(walk, path, path)
    elif before is None or not is_same(before.side, after.side):
        walk.add(path, before, after.side, _conflict(walk, path, before))


def _delete(walk: _Walk, path: bytes, top: bytes) -> None:
    """Add a deletion. `top`: the path that the command deleted; each folder from there on must be as it was."""
    ground = walk.ground
    before = _lying_below(ground, path)
    if before is None:
        return
    conflict, above = _conflict(walk, top, before), path
    while not conflict and above != top:
        above = above.rpartition(b"/")[0]
        folder = status_at(ground.below, above)
        if folder is None or folder.st_ctime_ns >= ground.stamp_at(top):
            conflict = f"{os.fsdecode(above)} changed while the command ran"
    walk.add(path, before, None, conflict)


def _find_deleted(walk: _Walk) -> None:
    """Call a new file a conflict if it is the copy of a file that somebody deleted or moved while the command ran.

    A copy of a file that the command itself moved or linked is not a conflict: that file still lies below, at its old
    path. Only changed folders of the workspace are searched.
    """
    below = walk.ground.below
    copies = list[tuple[int, tuple[int, bytes]]]()
    for number, one in enumerate(walk.found):
        if one.before is None and one.after is not None and one.after.type == "file" and not one.conflict:
            path = os.fsencode(one.path)
            folder = status_at(below, path.rpartition(b"/")[0])
            if folder is not None and folder.st_ctime_ns < walk.ground.stamp_at(path):
                continue
            if (origin := origin_of(walk.upper, path, _FILE)) is not None:
                copies.append((number, origin))
    if not copies:
        return
    known = {handle_of(below, os.fsencode(one.path)) for one in walk.found if one.before is not None}
    if known == {None}:  # what lies below is a view, whose files have no handles
        return
    if any(origin not in known for _, origin in copies):  # a hard link copies its file, which does not change by it
        known |= {handle_of(below, path) for path, status in written_below(walk.upper) if stat.S_ISREG(status.st_mode)}
    for number, origin in copies:
        if origin not in known:
            why = "it was deleted or moved while the command ran"
            walk.found[number] = msgspec.structs.replace(walk.found[number], conflict=why)


def _conflict(walk: _Walk, path: bytes, before: Seen | None) -> str:
    """Return why what lies below may not be what the command saw, from the folders of `path` and the entry itself."""
    stamp = walk.ground.stamp_at(path)
    if before is not None and before.side.type != "folder" and before.status.st_ctime_ns >= stamp:
        return "it changed while the command ran"
    if before is not None and before.side.type == "file" and not before.side.digest:
        return "it cannot be read"
    above = path.rpartition(b"/")[0]
    if walk.replaced_ns(above) < stamp:
        return ""
    while _replaced_at(walk, above) < stamp and b"/" in above:
        above = above.rpartition(b"/")[0]
    return f"{os.fsdecode(above)} was replaced while the command ran"


def _replaced_at(walk: _Walk, folder: bytes) -> int:
    """Return the change time of a folder if another inode is there than the command saw, or 0 if it is the same.

    The layer then has a folder of its own there, or somebody put another one in its place. The view does not tell: when
    a layer is sealed or mounted again, the kernel looks the folders up again.
    """
    ground = walk.ground
    here = status_at(ground.below, folder)
    if here is None:
        return 0
    if ground.folders is not None:
        return here.st_ctime_ns if ground.folders.get(folder) != here.st_ino else 0
    if not is_copy(walk.upper, folder) and not is_opaque(walk.upper, folder):
        return 0  # the command made it, and nothing was there
    return 0 if is_copy_of(walk.upper, folder, ground.below) else here.st_ctime_ns


def is_same(one: Side, other: Side) -> bool:
    """Return whether both sides are the same to a user: their times do not count.

    A file whose bytes were not read is the same as one of the same size and time. One that cannot be read is the same
    as nothing.
    """
    if one.type == other.type == "file" and not (one.digest and other.digest):
        mine, its = ((side.size, side.mtime_ns, side.executable) for side in (one, other))
        return mine == its and one.inode != 0 and other.inode != 0
    return (one.type, one.digest, one.executable) == (other.type, other.digest, other.executable)


def side_at(folder: int, path: bytes, *, hashes: bool = True, status: os.stat_result | None = None) -> Seen | None:
    """Return what is at a path with its status, or None: nothing that can be applied. Raises OSError."""
    status = status or status_at(folder, path)
    if status is None:
        return None
    mode = status.st_mode
    if stat.S_ISDIR(mode):
        return Seen(Side(type="folder"), status)
    if stat.S_ISLNK(mode):
        target = target_at(folder, path)
        digest = hashlib.sha256(target).hexdigest()
        return Seen(Side(type="link", digest=digest, size=len(target), mtime_ns=status.st_mtime_ns), status)
    if not stat.S_ISREG(mode):
        return None
    runs = bool(mode & stat.S_IXUSR)
    side = Side(
        type="file",
        digest=_digest(folder, path) if hashes else "",
        size=status.st_size,
        executable=runs,
        mtime_ns=status.st_mtime_ns,
        inode=status.st_ino,
        ctime_ns=status.st_ctime_ns,
    )
    return Seen(side, status)


def _lying_below(ground: Ground, path: bytes) -> Seen | None:
    """Return what lies below the layer at a path. A file that the user cannot read is equal to no other one."""
    try:
        return side_at(ground.below, path)
    except PermissionError:
        found = side_at(ground.below, path, hashes=False)
        return found and Seen(msgspec.structs.replace(found.side, inode=0), found.status)


def bytes_at(folder: int, path: bytes) -> bytes:
    """Return the bytes of a file. Raises OSError."""
    return b"".join(_pieces(folder, path))


def _digest(folder: int, path: bytes) -> str:
    found = hashlib.sha256()
    for piece in _pieces(folder, path):
        found.update(piece)
    return found.hexdigest()


def _pieces(folder: int, path: bytes) -> Iterator[bytes]:
    file = open_below(folder, path, _FILE)
    try:
        while piece := os.read(file, _PIECE):
            yield piece
    finally:
        os.close(file)


def status_at(folder: int, path: bytes) -> os.stat_result | None:
    """Return the status of what is at a path, or None: nothing is there, or a link is on the way. Raises OSError."""
    try:
        found = open_below(folder, path, os.O_PATH | os.O_NOFOLLOW)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EXDEV):  # a link on the way, or another file system
            return None
        raise
    try:
        return os.fstat(found)
    finally:
        os.close(found)


def target_at(folder: int, path: bytes) -> bytes:
    """Return the target of a link. Raises OSError."""
    found = open_below(folder, path, os.O_PATH | os.O_NOFOLLOW)
    try:
        return os.readlink(b"", dir_fd=found)
    finally:
        os.close(found)


def _exists(folder: int, path: bytes) -> bool:
    return status_at(folder, path) is not None


def entries_of(folder: int, path: bytes) -> list[tuple[bytes, os.stat_result]]:
    """Return the names in a folder with their status. Raises OSError."""
    opened = open_below(folder, path.rstrip(b"/"), FOLDER)
    try:
        with os.scandir(opened) as listing:
            names = [os.fsencode(entry.name) for entry in listing]
        return [(name, os.stat(name, dir_fd=opened, follow_symlinks=False)) for name in names]
    finally:
        os.close(opened)


def written_below(upper: int) -> Iterator[tuple[bytes, os.stat_result]]:
    """Yield the path and status of each entry of a layer; deletions are among them. Raises OSError and TooMuch."""
    waiting = [b""]
    while waiting:
        folder = waiting.pop()
        for name, status in entries_of(upper, folder):
            path = folder + name
            refuse_long(path)
            status = made_readable(upper, path, status)
            yield path, status
            if stat.S_ISDIR(status.st_mode):
                waiting.append(path + b"/")


def made_readable(upper: int, path: bytes, status: os.stat_result) -> os.stat_result:
    """Let the owner read what a command in the layer took their rights from, and return its status."""
    wanted = stat.S_IRWXU if stat.S_ISDIR(status.st_mode) else stat.S_IRUSR
    if not (stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)) or status.st_mode & wanted == wanted:
        return status
    parent, _, name = path.rpartition(b"/")
    opened = open_below(upper, parent, FOLDER)
    try:
        give_rights(opened, name, stat.S_IMODE(status.st_mode) | wanted)
        return os.stat(name, dir_fd=opened, follow_symlinks=False)
    finally:
        os.close(opened)


def _below(folder: int, top: bytes) -> Iterator[bytes]:
    """Yield the paths below a folder, those in a folder before it."""
    stack: list[tuple[bytes, bool]] = [(top, False)]
    while stack:
        path, is_done = stack.pop()
        if is_done:
            yield path.rstrip(b"/")
            continue
        try:
            entries = entries_of(folder, path)
        except PermissionError:  # the user's own folder stays as it is; it cannot be deleted without its content
            continue
        for name, status in entries:
            if stat.S_ISDIR(status.st_mode):
                stack += [(path + name + b"/", True), (path + name + b"/", False)]
            else:
                yield path + name


def refuse_long(path: bytes) -> None:
    """Raise TooMuch for a path that is too long."""
    if len(path) > _LONGEST_PATH:
        raise TooMuch(f"it has folders below more than {_LONGEST_PATH:,} bytes of path")


def is_whiteout(status: os.stat_result) -> bool:
    """Return whether an entry of a layer says that what lies below it was deleted."""
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == 0


def is_opaque(folder: int, path: bytes) -> bool:
    """Return whether a folder of a layer hides what lies below it. Raises OSError."""
    opened = open_below(folder, path, FOLDER)
    try:
        return os.getxattr(opened, OPAQUE) == b"y"
    except OSError as error:
        if error.errno in (errno.ENODATA, errno.EOPNOTSUPP):
            return False
        raise
    finally:
        os.close(opened)


def _special(mode: int) -> str:
    kinds = ((stat.S_ISFIFO, "a FIFO"), (stat.S_ISSOCK, "a socket"))
    return next((words for test, words in kinds if test(mode)), "a device")
