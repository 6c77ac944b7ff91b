"""A copy of the workspace for a unit of work, where there are no layers. It has the interface of a layer.

It is made equal to the workspace before each unit, and again when the workspace changed: what differs by inode, change
time and size, in the workspace or in the copy, is copied again, with shared blocks where the file system has them. At
the end, the differences are stored as an overlay stores them, so that all other code is the same. The content of the
copy is never trusted.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

import msgspec

from ..protocol.text.counts import plural
from ..protocol.text.effect_words import size_words
from ..sandbox.command_access import LayerAccess
from .copied_up import CopiedUp
from .copy_folder import LOCK, TREE, is_locked, open_lock
from .direct_comparison import PathEntry, Tree, read_tree
from .fitness import try_copies_of
from .git.layer_git_folders import git_folders_of, touched
from .git.setting_names import GitPaths
from .layer import Layer, LayerMoment, next_tick
from .layer_effects import MOST_EFFECTS, Effect, Ground, Side, TooMuch, list_effects, made_readable, status_at
from .occupied import Occupied, becomes
from .open_below import FOLDER, give_rights, open_below
from .removing import remove_tree
from .watching import Present, Watch, limits_at

if TYPE_CHECKING:
    from .namespaces import Namespaces

_UPPER, _STAGING, _TREES, _STAMP = "u", "s", "trees", "stamp"
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

    def words(self, each: str = "") -> str:
        """Return it in words. `each`: ` each` if there are several copies."""
        shared = ", whose blocks are shared until they change" if self.shares else ""
        return f"{plural(self.files, 'file')}, {size_words(self.size)}{each}{shared}"


def size_of(workspace: Path, place: Path, *, skipped: Collection[str] = ()) -> Size:
    """Return what a copy of the workspace in an existing folder would take. Raises OSError."""
    files = [one.side for one in read_tree(workspace, skipped=skipped, settled=True).entries.values()]
    return Size(len(files), sum(one.size for one in files), _shares(workspace, place))


def cost_of_copies(workspace: Path, state: Path) -> str:
    """Return what each copy of the workspace takes, in words. `state`: the folder of journals.

    Raises OSError if no copy can be made.
    """
    fit = try_copies_of(workspace, state)
    if fit.place is None:
        raise OSError(fit.why)
    at = next(folder for folder in (fit.place, *fit.place.parents) if folder.is_dir())
    return size_of(workspace, at, skipped=skipped_in(workspace, fit.place if fit.is_inside else None)).words(" each")


def _shares(workspace: Path, place: Path) -> bool:
    """Try whether a new file in `place` can share blocks with one that is on the workspace's file system."""
    if workspace.stat().st_dev != place.stat().st_dev:
        return False
    with tempfile.TemporaryFile(dir=place) as one, tempfile.TemporaryFile(dir=place) as other:
        one.write(b"1")
        one.flush()
        return clone_blocks(one.fileno(), other.fileno())


def skipped_in(workspace: Path, hidden: Path | None) -> list[str]:
    """Return what a copy does not have: rundry's own folder, and git's where it lies outside of the workspace."""
    found = (
        [hidden.relative_to(workspace).as_posix()] if hidden is not None and hidden.is_relative_to(workspace) else []
    )
    git = git_folders_of(workspace)
    return found if git is None or git.common.is_relative_to(workspace) else [*found, ".git"]


class _Spare(NamedTuple):
    """A copy that no unit uses."""

    folder: Path
    source: Tree
    own: Tree


class Copies:
    """The copies of one run: as many as units worked at the same time."""

    def __init__(self, folder: Path, *, at_workspace: bool) -> None:
        """`folder`: of this run, on the file system of the workspace; it is made if a copy is not used any more.

        `at_workspace`: commands see a copy at the path of the workspace.
        """
        self._folder, self.at_workspace = folder, at_workspace
        self._spare, self._lock = list[_Spare](), -1

    def take(self) -> _Spare | None:
        """Return a copy that is not used, or None."""
        return self._spare.pop() if self._spare else None

    def put_back(self, tree: Path, source: Tree, own: Tree) -> None:
        """Keep a copy for the next unit. Raises OSError."""
        if self._lock < 0:
            self._folder.mkdir(mode=0o700, parents=True)
            self._lock = open_lock(self._folder)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
        place = self._folder / secrets.token_hex(8)
        tree.rename(place)
        self._spare.append(_Spare(place, source, own))

    def close(self) -> None:
        """Delete the copies. What cannot be deleted stays, and the next run here tries it again."""
        if self._lock >= 0:
            with suppress(OSError):
                remove_tree(self._folder)
            os.close(self._lock)
            self._lock = -1


class CopyLayer(Layer):
    """What is written in a copy of a workspace, apart from it."""

    def __init__(
        self, folder: Path, workspace: Path, copies: Copies, hidden: Path | None = None, *, is_left: bool = False
    ) -> None:
        """Like a `Layer`. A git folder elsewhere is not copied, so commands in the copy have none. Raises OSError."""
        self.folder, self.workspace, self._hidden, self._copies = folder, workspace, hidden, copies
        git = git_folders_of(workspace)
        self.git = git if git is not None and git.common.is_relative_to(workspace) else None
        self.places = [workspace]
        self.indexes, self.older = dict[Path, int](), dict[bytes, int]()
        self.stamp_ns = self.first_stamp_ns = 0
        self.tree = folder / TREE
        """What commands work in."""
        self._skipped = skipped_in(workspace, hidden)
        self._source = self._own = Tree({}, [], [])
        self._prepared: Tree | None = None
        """The copy as it was prepared for what runs in it. None means it shows the workspace."""
        self._root = self._lock = -1
        self._present, self._watches = Present(0, 0), list[Watch]()
        self._copied_up = CopiedUp()
        self._is_listed = False
        if is_left:
            self._source, self._own = _stored(folder / _TREES)
            return
        for name in (_STAGING, _UPPER):
            (folder / name).mkdir(mode=0o700, parents=True)
        spare = copies.take()
        if spare is None:
            self.tree.mkdir(mode=0o700)
        else:
            spare.folder.rename(self.tree)
            self._source, self._own = spare.source, spare.own

    def mount(self, namespaces: Namespaces | None) -> Self:
        """Make it equal to the workspace. Raises OSError."""
        del namespaces
        self._begin(0.0)
        self.stamp_ns = self.first_stamp_ns = next_tick(self.folder / _STAMP)
        self._refresh(self._touched_since(self._own, self._now()), keeps=False)
        return self

    def mount_again(self, namespaces: Namespaces | None, seconds: float) -> None:
        """Show the workspace as it is now, where nothing was written. Raises Occupied and OSError."""
        del namespaces
        if self._lock < 0:
            self._begin(seconds)
        now = self._now()
        changed = self._touched_since(self._own, now)
        written = {path for path in changed if not self._is_only_copied_up(path, now)}
        for path in changed - written:
            self.older.pop(path, None)
        for path in written:
            for above in and_above(path):  # also a folder that was swapped meanwhile
                self.older.setdefault(above, self.stamp_ns)
        self.stamp_ns = next_tick(self.folder / _STAMP)
        self._refresh(written, keeps=True)

    def hold(self) -> None:
        """Use the copy that another process left, as it is. Raises Occupied and OSError."""
        self._begin(0.0)

    def note_prepared(self) -> None:
        """Note what rundry put into it, so that it does not count as written. Raises OSError."""
        self._prepared = prepared = self._now()
        next_tick(self.folder / _STAMP)  # what is changed from now on gets a later change time
        sizes = [one.side.size for one in prepared.entries.values() if one.side.type == "file"]
        self._present = Present(len(prepared.entries), sum(sizes))

    @property
    def source(self) -> Tree:
        """The workspace as it was when the copy was made equal to it."""
        return self._source

    @property
    def skipped(self) -> Sequence[str]:
        """The paths of the workspace that are not copied."""
        return self._skipped

    @property
    def own(self) -> Tree:
        """The copy as it was then, or when it was prepared."""
        return self._prepared or self._own

    def read(self) -> Tree:
        """Return what is in the copy now. Raises OSError."""
        return self._now()

    def note_copied_up(self, name: str) -> None:
        """As in `Layer`: note the files of which only the mode or the number of names was changed, and changed back."""
        until_ns = self.next_tick(name)
        differing = differing_paths(self._own, self._now())
        found = [(path, at) for path in differing if (at := status_at(self._root, path)) is not None]
        below = os.open(self.workspace, FOLDER | os.O_CLOEXEC)
        try:
            self._copied_up.note(found, self._root, below, until_ns)
        finally:
            os.close(below)

    def _is_only_copied_up(self, path: bytes, now: Tree) -> bool:
        entry = now.entries.get(path)
        return entry is not None and self._copied_up.holds(path, entry.side.inode, entry.side.ctime_ns)

    def _begin(self, seconds: float) -> None:
        lock = open_lock(self.folder)
        if not becomes(lambda: is_locked(lock), seconds):
            os.close(lock)
            raise Occupied("another process works in the copy")
        self._lock = lock
        self._root = os.open(self.tree, FOLDER | os.O_CLOEXEC)

    def _refresh(self, written: set[bytes], *, keeps: bool) -> None:
        """Copy what differs. `written`: what was touched in the copy. `keeps`: it stays as it is."""
        source = read_tree(self.workspace, skipped=self._skipped)
        differing = differing_paths(self._source, source)
        own = self._own
        kept = {above for path in written for above in and_above(path)} if keeps else set[bytes]()
        differing = differing - kept if keeps else differing | written
        with CopyFolders(self.workspace, self.tree) as folders:
            for path in sorted(differing, reverse=True):
                folders.delete(path, source)
            for path in sorted(differing & source.entries.keys()):
                folders.copy(path, source.entries[path].side)
        now = self._now()
        next_tick(self.folder / _STAMP)  # what is changed in the copy from now on gets a later change time
        entries = {path: entry for path, entry in now.entries.items() if not keeps or path not in written}
        if keeps:
            entries |= {path: own.entries[path] for path in written if path in own.entries}
        self._source, self._own = source, Tree(entries, [], [])
        self._is_listed = False
        sizes = [one.side.size for one in entries.values() if one.side.type == "file"]
        self._present = Present(len(entries), sum(sizes))
        data = msgspec.msgpack.encode((self._source, self._own))
        (self.folder / f"{_TREES}.new").write_bytes(data)
        (self.folder / f"{_TREES}.new").rename(self.folder / _TREES)

    @property
    def is_mounted(self) -> bool:
        """Whether commands can run in it."""
        return self._lock >= 0

    @property
    def copy(self) -> Path:
        """The copy of the workspace."""
        return self.tree

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all was written in it."""
        return not any(True for _ in self.names_written())

    @property
    def words(self) -> list[str]:
        """Nothing has to be entered."""
        return []

    def outside(self, path: Path) -> Path:
        """Return the path that commands know for a path in the copy or in the workspace."""
        mine, theirs = self.tree, self.workspace
        if self._copies.at_workspace:
            mine, theirs = theirs, mine
        return mine / path.relative_to(theirs) if path.is_relative_to(theirs) else path

    @property
    def access(self) -> LayerAccess:
        """How a sandboxed command runs in the copy."""
        return LayerAccess(offline=[], online=[], places=self.places, copy=self.tree)

    @property
    def root(self) -> int:
        """The open folder of the copy."""
        return self._root

    def watch(self) -> Watch:
        """As in `Layer`. What grew in the copy counts, and takes its room twice, because `seal` stores it."""
        self._limits = self._limits or limits_at(self.folder)
        limits = msgspec.structs.replace(self._limits, size=self._limits.size // 2)
        watch = Watch([self.tree], limits, self._present)
        self._watches.append(watch)
        return watch

    def seal(self, seconds: float) -> None:
        """Store what was changed, out of the reach of commands. Raises TooMuch and OSError."""
        del seconds
        self._list(self.own)
        self._is_listed = True

    def moment(self, name: str) -> LayerMoment:
        """Return the present moment, as in `Layer`."""
        return LayerMoment(self.next_tick(name), self._now())

    def effects(
        self, reads: Callable[[str], bool] = lambda _: True, since: LayerMoment | None = None
    ) -> tuple[list[Effect], list[str]]:
        """As in `Layer`. Raises TooMuch and OSError."""
        if not self._is_listed:
            self._list(self._own if since is None or since.tree is None else since.tree)
        upper = os.open(self.upper, FOLDER | os.O_CLOEXEC)
        below = os.open(self.workspace, FOLDER | os.O_CLOEXEC)
        try:
            found = touched(upper, below)
            git = GitPaths([*found.folders, *found.deleted], found.new)
            folders = {path: one.side.inode for path, one in self._source.entries.items() if one.side.type == "folder"}
            ground = Ground(below, self.stamp_ns, self.older, folders)
            return list_effects(upper, ground, reads, git)
        finally:
            os.close(upper)
            os.close(below)

    def names_written(self) -> Iterator[bytes]:
        """Yield the paths of what was written."""
        yield from sorted(self._touched_since(self._own, self._now()))

    @property
    def uppers(self) -> list[Path]:
        """The folder with what was written, once it is sealed."""
        return [self.folder / _UPPER]

    def unmount(self) -> None:
        """Release the copy."""
        while self.indexes:
            os.close(self.indexes.popitem()[1])
        for descriptor in (self._root, self._lock):
            if descriptor >= 0:
                os.close(descriptor)
        self._root = self._lock = -1

    def drop(self) -> None:
        """Delete what was written, and keep the copy for the next unit unless it is overfull. Raises OSError."""
        self.unmount()
        if self.tree.is_dir() and not any(watch.reached for watch in self._watches):
            self._copies.put_back(self.tree, self._source, self._own)
        remove_tree(self.folder)

    def _touched_since(self, then: Tree, now: Tree) -> set[bytes]:
        return differing_paths(then, now) | {os.fsencode(path) for path in now.special}

    def _list(self, then: Tree) -> None:
        """Store what differs from a reading of the copy, as an overlay would. Raises TooMuch and OSError."""
        remove_tree(self.upper)
        self.upper.mkdir(mode=0o700)
        now = self._now()
        differing = differing_paths(then, now)
        self._refuse_too_much([now.entries[path].side for path in differing if path in now.entries], len(differing))
        gone = set[bytes]()
        with CopyFolders(self.tree, self.upper) as folders:
            for path in sorted(differing, key=lambda path: path.split(b"/")):
                if any(above in gone for above in and_above(path)):
                    continue
                folders.make_parents(path)
                entry = now.entries.get(path)
                if entry is None or entry.side.type != "folder":
                    gone.add(path)  # nothing is below it any more
                if entry is None:
                    folders.mark_deleted(path)
                else:
                    folders.make_readable(path)
                    folders.copy(path, entry.side)

    def _refuse_too_much(self, written: Sequence[Side], count: int) -> None:
        """Raise TooMuch if the disk has no room to write this down. `count`: with what was deleted."""
        if count > MOST_EFFECTS:
            raise TooMuch(f"it changes more than {MOST_EFFECTS:,} files")
        size, room = sum(one.size for one in written if one.type == "file"), limits_at(self.folder).size
        if size > room and not _shares(self.workspace, self.folder):
            raise TooMuch(f"it changes {size_words(size)}, and the disk has room for {size_words(room)}")

    def _now(self) -> Tree:
        """Read the copy, also folders whose rights a command took from their owner. Raises OSError."""
        shut = list[str]()
        while (found := read_tree(self.tree, settled=True)).unread:
            if found.unread == shut:
                raise OSError(errno.EACCES, "it cannot be listed", shut[0])
            shut = found.unread
            with CopyFolders(self.workspace, self.tree) as folders:
                for path in shut:
                    folders.open_up(os.fsencode(path))
        return found


def sweep_copies(folder: Path) -> int:
    """Delete the copies that killed runs kept for their next units, and return the number of these runs.

    `folder`: that with the folders of all runs.
    """
    count = 0
    for left in folder.iterdir() if folder.is_dir() else ():
        with suppress(OSError):
            lock = os.open(left / LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                if is_locked(lock):
                    remove_tree(left)
                    count += 1
            finally:
                os.close(lock)
    return count


def _stored(file: Path) -> tuple[Tree, Tree]:
    """Return the readings that another runner stored. Raises OSError."""
    try:
        return msgspec.msgpack.decode(file.read_bytes(), type=tuple[Tree, Tree])
    except msgspec.MsgspecError as error:
        raise OSError(errno.EINVAL, "it is damaged", str(file)) from error


def and_above(path: bytes) -> Iterable[bytes]:
    """Yield a path and the folders in which it lies."""
    while path:
        yield path
        path = path.rpartition(b"/")[0]


def differing_paths(then: Tree, now: Tree) -> set[bytes]:
    """Return the paths of what was touched at all, times included: programs such as make compare them."""
    return {
        path
        for path in then.entries.keys() | now.entries.keys()
        if _facts(then.entries.get(path)) != _facts(now.entries.get(path))
    }


def _facts(entry: PathEntry | None) -> tuple[Side, int] | str:
    """Return what a later touch changes. A file that had just changed has a digest, and counts as touched later."""
    if entry is None or entry.side.type == "folder":
        return "" if entry is None else "folder"
    return entry.side, entry.device


class CopyFolders:
    """The open folders of what is read and of what is written."""

    def __init__(self, source: Path, copy: Path) -> None:
        self._source, self._copy = os.open(source, FOLDER | os.O_CLOEXEC), os.open(copy, FOLDER | os.O_CLOEXEC)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._source)
        os.close(self._copy)

    def open_up(self, path: bytes) -> None:
        """Give the owner of a folder in the copy all rights."""
        parent, _, name = path.rpartition(b"/")
        opened = self.open_parent(parent)
        try:
            give_rights(opened, name, 0o700)
        finally:
            os.close(opened)

    def open_parent(self, path: bytes) -> int:
        """Open a folder of the copy in which something is made or deleted; the caller closes it."""
        opened = open_below(self._copy, path, FOLDER)
        os.fchmod(opened, 0o700)
        return opened

    def make_parents(self, path: bytes) -> None:
        """Make the folders in which a path lies."""
        for above in reversed([*and_above(path.rpartition(b"/")[0])]):
            opened = self.open_parent(above.rpartition(b"/")[0])
            try:
                with suppress(FileExistsError):
                    os.mkdir(above.rpartition(b"/")[2], 0o700, dir_fd=opened)
            finally:
                os.close(opened)

    def make_readable(self, path: bytes) -> None:
        """Let the owner read what the source has at a path."""
        status = status_at(self._source, path)
        if status is not None:
            made_readable(self._source, path, status)

    def mark_deleted(self, path: bytes) -> None:
        """Store that a path was deleted, as an overlay does."""
        opened = self.open_parent(path.rpartition(b"/")[0])
        try:
            os.mknod(path.rpartition(b"/")[2], stat.S_IFCHR, 0, dir_fd=opened)
        finally:
            os.close(opened)

    def delete(self, path: bytes, source: Tree) -> None:
        """Delete what the copy has at a path, unless it is a folder in both."""
        wanted = source.entries.get(path)
        if not self._is_folder(path) or wanted is None or wanted.side.type != "folder":
            self.remove(path)

    def remove(self, path: bytes) -> None:
        """Delete what the copy has at a path, if anything is there."""
        if status_at(self._copy, path) is None:
            return
        parent, _, name = path.rpartition(b"/")
        is_folder = self._is_folder(path)
        opened = self.open_parent(parent)
        try:
            if is_folder:
                remove_tree(Path(f"/proc/self/fd/{opened}") / os.fsdecode(name))
            else:
                os.unlink(name, dir_fd=opened)
        finally:
            os.close(opened)

    def make_folder(self, path: bytes) -> None:
        """Make a folder, unless there is one, and those above it."""
        if not self._is_folder(path):
            self.remove(path)
            self.make_parents(path + b"/.")

    def _is_folder(self, path: bytes) -> bool:
        status = status_at(self._copy, path)
        return status is not None and stat.S_ISDIR(status.st_mode)

    def copy(self, path: bytes, side: Side) -> None:
        """Copy what the source has at a path. What was removed or changed its type meanwhile is left out."""
        parent, _, name = path.rpartition(b"/")
        try:
            opened = self.open_parent(parent)
        except (FileNotFoundError, NotADirectoryError):
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
            if not clone_blocks(reading, writing):
                _copy_bytes(reading, writing)
            os.fchmod(writing, stat.S_IMODE(status.st_mode) & 0o777)
            os.utime(writing, ns=(status.st_atime_ns, status.st_mtime_ns))
        finally:
            os.close(writing)
    finally:
        os.close(reading)


def _copy_bytes(reading: int, writing: int) -> None:
    try:
        while os.copy_file_range(reading, writing, _PIECE):
            pass
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
            raise
        with os.fdopen(os.dup(reading), "rb") as source, os.fdopen(os.dup(writing), "wb") as target:
            shutil.copyfileobj(source, target)  # between two file systems


def copy_file(source: str, target: str) -> None:
    """Copy a file with its times and rights, as `shutil.copytree` wants it. Pipes and sockets are left out."""
    if not stat.S_ISREG(os.lstat(source).st_mode):
        return
    with open(source, "rb") as reading, open(target, "xb") as writing:  # noqa: PTH123 - paths of text, 3 times as fast
        if not clone_blocks(reading.fileno(), writing.fileno()):
            _copy_bytes(reading.fileno(), writing.fileno())
    shutil.copystat(source, target)


def clone_blocks(reading: int, writing: int) -> bool:
    """Let an empty file share the blocks of another one. Returns false where the file system cannot do that."""
    try:
        fcntl.ioctl(writing, _CLONE, reading)
    except OSError:
        return False
    return True
