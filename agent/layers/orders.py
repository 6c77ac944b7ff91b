"""Orders to change a workspace: files that say what is applied, so that another process can finish it after a kill.

An order lies in the layers' folder of its workspace from before its first change until its outcome is in the journal.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import secrets
import stat
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from ..host.crash import crash_point
from ..host.file_errors import StaleFile
from ..host.files.no_follow import rename_new, write_all
from ..host.files.temporary import temporary_name
from ..host.files.write_file import NEW_FILE
from ..host.leftovers import Displaced, Leftovers
from ..host.workspace_paths import Workspace
from .apply import Result, Source, carry_out, force_out, stored_progress
from .displaced_files import Kept
from .effect_rows import EffectRow, decode_rows, encode_rows
from .git.apply_git_rows import carry_out_git, name_of
from .git.git_rows import GitChanges
from .layer_effects import IN_MEMORY
from .open_below import FOLDER
from .removing import remove_tree
from .written_files import Written, rename_beside

if TYPE_CHECKING:
    from .layer_effects import Side

_ORDERS, _LOCK = "orders", "lock"
_ORDER, _PROGRESS, _DONE, _LEFTOVERS, _STAGING = "order", "progress", "done", "leftovers", "s"

GIT = ".git: "
"""Before the name of what a row of git changes, in a result."""
_HELD_BACK = "held back, because a file changed meanwhile"
_PIECE = 1 << 20


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What is applied to a workspace."""

    workspace: Path
    rows: Sequence[EffectRow]
    written: Path | None = None
    """The folder with what a layer's commands wrote, from which files are moved. None means that all bytes are in
    `contents`."""
    contents: Mapping[str, bytes] = {}
    """The bytes of files, and the targets of links, by path."""
    git: Sequence[GitChanges] = ()
    """What repositories gain: their accepted rows alone. Held back if one of the other rows is a conflict."""
    folder: Path | None = None
    """The folder of the layer in which `git` has its new objects."""
    keep: frozenset[str] = frozenset()
    """SHA-256 of files that the rows displace and that nothing else has: they are kept for an undo."""
    is_undo: bool = False
    """Contents may come from what is kept, and a file that is a conflict does not hold back what concerns git."""


class _Stored(msgspec.Struct, frozen=True, kw_only=True):
    workspace: bytes
    rows: bytes
    written: bytes
    contents: dict[bytes, bytes]
    git: tuple[GitChanges, ...]
    keep: tuple[str, ...] = ()
    is_undo: bool = False


class Orders:
    """The orders of all runs for one workspace."""

    def __init__(self, base: Path) -> None:
        """`base`: the layers' folder of the workspace."""
        self._folder, self._lock = base / _ORDERS, base / _LOCK
        self.kept = Kept(base)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def give(self, name: str, order: Order) -> None:
        """Store an order durably under a new name. Raises OSError. From here on, it is carried out."""
        apart = order.written or (order.folder if order.git else None)
        if apart is not None:
            force_out(apart)  # the overlay of a layer syncs nothing
        own = self._folder / name
        (own / _STAGING).mkdir(mode=0o700, parents=True)
        stored = _Stored(
            workspace=os.fsencode(order.workspace),
            rows=encode_rows(order.rows),
            written=b"" if order.written is None else os.fsencode(order.written),
            contents={os.fsencode(path): data for path, data in order.contents.items()},
            git=tuple(order.git),
            keep=tuple(sorted(order.keep)),
            is_undo=order.is_undo,
        )
        write_durably(own / _ORDER, msgspec.msgpack.encode(stored))
        _force_names_out(self._folder)
        crash_point("order: given")

    def carry_out(self, name: str) -> list[Result]:
        """Carry out an order, or finish it, unless that was done. Raises OSError and ValueError (a damaged file)."""
        own = self._folder / name
        with self.locked():
            done = self.outcome(name)
            if done is not None:
                return done
            stored = msgspec.msgpack.decode((own / _ORDER).read_bytes(), type=_Stored)
            rows, staging = decode_rows(stored.rows), own / _STAGING
            displaced = Displaced(self.kept.place(name), stored.keep, staging, _moved(rows, stored.contents))
            leftovers = Leftovers(own / _LEFTOVERS, displaced)
            leftovers.sweep()
            ws = Workspace(Path(os.fsdecode(stored.workspace)), leftovers=leftovers)
            with (
                _source(stored, staging, self.kept) as source,
                stored_progress(own / _PROGRESS, len(rows)) as progress,
            ):
                results = carry_out(ws, rows, source, progress)
            results += _carried_out(stored, ws, leftovers, is_held_back=any(one.conflict for one in results))
            said = [(os.fsencode(one.path), one.conflict) for one in results]
            write_durably(own / _DONE, msgspec.msgpack.encode(said))
            return results

    def outcome(self, name: str) -> list[Result] | None:
        """Return what became of the rows of an order, or None if it was not carried out completely."""
        try:
            data = (self._folder / name / _DONE).read_bytes()
        except FileNotFoundError:
            return None
        said = msgspec.msgpack.decode(data, type=list[tuple[bytes, str]])
        return [Result(os.fsdecode(path), conflict) for path, conflict in said]

    def names(self) -> list[str]:
        """Return the names of all orders that are stored, whatever became of them."""
        return sorted(own.name for own in self._folder.iterdir() if (own / _ORDER).exists())

    def written(self, name: str) -> Path | None:
        """Return the folder from which an order moves files."""
        stored = msgspec.msgpack.decode((self._folder / name / _ORDER).read_bytes(), type=_Stored)
        return Path(os.fsdecode(stored.written)) if stored.written else None

    def forget(self, name: str) -> None:
        """Delete an order whose outcome is in the journal."""
        remove_tree(self._folder / name)

    @contextmanager
    def locked(self) -> Generator[None]:
        """Prevent other processes from applying anything in this workspace during the block."""
        lock = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)


def _moved(rows: Sequence[EffectRow], contents: Mapping[bytes, bytes]) -> list[str]:
    """Return the digests of contents that are moved to the workspace: nothing else has them."""
    made = [row for row in rows if row.after is not None and row.after.type == "file"]
    return [row.after.digest for row in made if row.after is not None and os.fsencode(row.path) not in contents]


def _carried_out(stored: _Stored, ws: Workspace, leftovers: Leftovers, *, is_held_back: bool) -> list[Result]:
    """Carry out what repositories gain or, at an undo, lose. `is_held_back`: nothing, because a file is a conflict."""
    results = list[Result]()
    for changes in stored.git:
        rows = changes.rows
        if is_held_back and not stored.is_undo:
            rows = tuple(replace(row, conflict=row.conflict or _HELD_BACK) for row in rows)
        for result in carry_out_git(changes, rows, ws.root, leftovers, keeps_conflicts=not stored.is_undo):
            results.append(Result(f"{GIT}{name_of(result.row)}", result.conflict))
    return results


class _Contents:
    """A source of bytes that an order holds, of files in a layer, and of files that were put aside."""

    def __init__(
        self, contents: Mapping[bytes, bytes], staging: Path, written: Written | None, kept: Kept | None
    ) -> None:
        self._contents, self._staging, self._written, self._kept = contents, staging, written, kept

    def load(self, path: str, side: Side) -> bytes:
        found = self._contents.get(os.fsencode(path))
        if found is not None:
            return found
        kept = self._kept_file(side)
        return self._layer(path).load(path, side) if kept is None else kept.read_bytes()

    def make(self, path: str, side: Side, folder: int, name: str) -> None:
        found = self._contents.get(os.fsencode(path))
        kept = self._kept_file(side) if found is None else None
        if found is None and kept is None:
            self._layer(path).make(path, side, folder, name)
            return
        file = self._staging / secrets.token_hex(8)
        made = os.open(file, NEW_FILE, 0o600 if side.mode else 0o777 if side.executable else 0o666)
        try:
            if found is not None:
                write_all(made, found)
            elif kept is not None:
                _copy(kept, made, path, side.digest)
            if side.mode:
                os.fchmod(made, side.mode)
            if side.mtime_ns:
                os.utime(made, ns=(side.mtime_ns, side.mtime_ns))
            try:
                rename_beside(file, folder, name)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                _copy_beside(file, folder, name)  # without layers rundry's folder can be on another file system
        finally:
            os.close(made)
            file.unlink(missing_ok=True)

    def _kept_file(self, side: Side) -> Path | None:
        """Return a file with a content that no longer lies where the order says."""
        if side.digest and (left := self._staging / side.digest).exists():
            return left
        return None if self._kept is None else self._kept.find(side.digest)

    def _layer(self, path: str) -> Written:
        if self._written is None:
            raise StaleFile(f"{path}: its {'new' if self._kept is None else 'old'} content is gone")
        return self._written


def _copy_beside(file: Path, folder: int, name: str) -> None:
    """Copy a file to a new name in an open folder. Raises OSError, with FileExistsError if the name exists."""
    aside, status = temporary_name(), file.stat()
    made = os.open(aside, NEW_FILE, 0o600, dir_fd=folder)
    try:
        with file.open("rb") as source:
            while piece := source.read(_PIECE):
                write_all(made, piece)
        os.fchmod(made, stat.S_IMODE(status.st_mode))
        os.utime(made, ns=(status.st_atime_ns, status.st_mtime_ns))
        rename_new(folder, aside, name)
    except BaseException:
        os.unlink(aside, dir_fd=folder)
        raise
    finally:
        os.close(made)


def _copy(source: Path, made: int, path: str, digest: str) -> None:
    """Copy a file, which a program may still have open. Raises StaleFile if its content is another one."""
    opened, found = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), hashlib.sha256()
    try:
        while piece := os.read(opened, _PIECE):
            found.update(piece)
            write_all(made, piece)
    finally:
        os.close(opened)
    if found.hexdigest() != digest:
        raise StaleFile(f"{path}: its content was changed after it was put aside")


@contextmanager
def _source(stored: _Stored, staging: Path, kept: Kept) -> Generator[Source]:
    with ExitStack() as stack:
        upper = Path(os.fsdecode(stored.written))
        written = stack.enter_context(Written(upper, staging)) if stored.written and upper.is_dir() else None
        yield _Contents(stored.contents, staging, written, kept if stored.is_undo else None)


def is_held(side: Side | None) -> bool:
    """Return whether an order holds the bytes of this side itself."""
    return side is not None and (
        side.type == "link" or (side.type == "file" and bool(side.digest) and side.size <= IN_MEMORY)
    )


def write_durably(path: Path, data: bytes) -> None:
    """Replace a file, so that after a power loss it has the old bytes or the new ones. Raises OSError."""
    making = path.with_name(f"{path.name}.new")
    file = os.open(making, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        write_all(file, data)
        os.fsync(file)
    finally:
        os.close(file)
    making.rename(path)
    _force_names_out(path.parent)


def _force_names_out(folder: Path) -> None:
    opened = os.open(folder, FOLDER | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
