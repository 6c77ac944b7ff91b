"""Apply accepted effects to the workspace. Each depends on what is at its path at that moment.

A row is done if the path already is as it should be, is carried out if the path is as it was, and is a conflict
otherwise. So rows can be repeated after a crash, and what somebody else wrote is never replaced. A row that was carried
out before the crash is not carried out again: if its path is as it was, somebody brought that back. Undo carries out
the inverse rows.
"""

from __future__ import annotations

import ctypes
import hashlib
import mmap
import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

import msgspec

from ..host.crash import crash_point
from ..host.file_errors import StaleFile, UnreadableFile, WriteFailed
from ..host.files.file_states import FileState, read_state
from ..host.files.no_follow import exchange, folder_of, rename_new
from ..host.files.temporary import temporary_name
from ..host.files.write_file import remove_any_file, write_any_file, write_large_file
from .effect_rows import EffectRow
from .layer_effects import IN_MEMORY, Side, is_same, side_at
from .open_below import FOLDER
from .unit_record import boot_id

if TYPE_CHECKING:
    from ..host.workspace_paths import Workspace

CHANGED = "somebody changed it meanwhile"
MADE = "somebody else has made it"
"""The conflict of a row whose path is neither as it was nor as it should be."""
_RUNS = stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH
_READS = stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH
"""Permissions to read. A program may be run by everybody who may read it."""
_BOOT_LENGTH = 36
_GOES, _COMES = 1, 2
"""The steps of a row."""
_INNER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Source(Protocol):
    """Where the contents of rows come from."""

    def load(self, path: str, side: Side) -> bytes:
        """Return the bytes of a file, or the target of a link. Raises OSError."""
        ...

    def make(self, path: str, side: Side, folder: int, name: str) -> None:
        """Make a file with this content in an open folder. Raises FileExistsError, OSError and StaleFile."""
        ...


class Result(msgspec.Struct, frozen=True, gc=False):
    """What became of a row."""

    path: str
    conflict: str
    """Why it was not carried out. Empty means that it was."""


class Progress:
    """Which rows of an order were carried out, known also after a kill of the process, but not after a power loss.

    A row has one step, or two if the path changes its type: what is there goes, and what is new comes.
    """

    def __init__(self, marks: mmap.mmap | bytearray) -> None:
        """`marks`: one byte for each row, behind `_BOOT_LENGTH` others."""
        self._marks = marks

    def has(self, row: int, step: int) -> bool:
        """Return whether a step (1 or 2) of the row with this number was carried out."""
        return bool(self._marks[_BOOT_LENGTH + row] & step)

    def add(self, row: int, step: int) -> None:
        """Note that a step was carried out."""
        self._marks[_BOOT_LENGTH + row] |= step

    @classmethod
    def of_rows(cls, count: int) -> Self:
        """Return the progress of rows that are carried out once, and are not repeated after a kill."""
        return cls(bytearray(_BOOT_LENGTH + count))


@contextmanager
def stored_progress(file: Path, count: int) -> Generator[Progress]:
    """Open the progress of an order of `count` rows, or begin it. Raises OSError.

    The file is written through the memory, so that a mark costs no call and outlives the process. A power loss can
    keep a mark and lose the change that it stands for, so marks count only until the machine starts again.
    """
    size = _BOOT_LENGTH + count
    opened = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.posix_fallocate(opened, 0, size)  # a full disk is an error here, and not a signal at the first mark
        with mmap.mmap(opened, size) as marks:
            boot = boot_id().encode()
            if marks[:_BOOT_LENGTH] != boot:
                marks[_BOOT_LENGTH:] = bytes(count)
                marks[:_BOOT_LENGTH] = boot
            yield Progress(marks)
    finally:
        os.close(opened)


def carry_out(
    ws: Workspace, rows: Sequence[EffectRow], source: Source, progress: Progress | None = None, *, durable: bool = True
) -> list[Result]:
    """Carry the rows out, and return what became of each, in the order in which they were tried.

    Raises OSError if the workspace is gone, or the disk does not keep what was written.

    Deletions come first, the deepest first, so that a path can change its type. New and changed paths follow, each
    folder before its content. With `durable`, everything is flushed to the disk at the end.
    """
    progress = progress or Progress.of_rows(len(rows))
    numbered = list(enumerate(rows))
    gone = [(n, row) for n, row in numbered if row.after is None or _changes_type(row)]
    results = list[Result]()
    failed = set[str]()
    for n, row in sorted(gone, key=lambda one: one[1].path, reverse=True):
        first = EffectRow(path=row.path, before=row.before, after=None)
        result = _tried(ws, first, source, also=row.after, is_done=progress.has(n, _GOES))
        if result.conflict:
            failed.add(row.path)
        else:
            progress.add(n, _GOES)
        crash_point("apply: row")
        if row.after is None or result.conflict:
            results.append(result)
    # Zero sorts before all that a name may contain, so that a folder comes right before what is in it.
    written = sorted((one for one in numbered if one[1].after), key=lambda one: one[1].path.replace("/", "\0"))
    with _Making(ws.root, source) as making:
        for n, row in written:
            path, after = row.path, row.after
            if path in failed or after is None:
                continue
            is_new = row.before is None or row.before.type != after.type
            is_done = progress.has(n, _COMES)
            if is_new and after.type == "file" and not is_done:
                result = making.file(path, after)
            elif is_new and after.type == "folder" and not is_done:
                result = making.folder(path)
            else:
                wanted = EffectRow(path=path, before=None, after=after) if is_new else row
                result = _tried(ws, wanted, source, is_done=is_done)
            if not result.conflict:
                progress.add(n, _COMES)
            results.append(result)
            crash_point("apply: row")
    if durable:
        force_out(ws.root)
    return results


def _changes_type(row: EffectRow) -> bool:
    return row.before is not None and row.after is not None and row.before.type != row.after.type


def _is_unread(side: Side | None) -> bool:
    return side is not None and side.type == "file" and not side.digest


class _Making:
    """Makes new folders and puts new files in place; what is made in one folder shares its descriptor."""

    def __init__(self, root: Path, source: Source) -> None:
        self._source = source
        self._root = self._folder = os.open(root, FOLDER | os.O_CLOEXEC)
        self._parent = ""
        self._open: list[tuple[str, int]] = []
        """The folders on the way to `_parent` below the root."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for _name, opened in self._open:
            os.close(opened)
        os.close(self._root)

    def file(self, path: str, after: Side) -> Result:
        """Put one file in place, if there is nothing yet."""
        parent, _, name = path.rpartition("/")
        try:
            folder = self._folder if parent == self._parent else self._enter(parent)
            try:
                self._source.make(path, after, folder, name)
            except (FileExistsError, FileNotFoundError):  # the second: a repeated row whose file was moved before
                found = side_at(folder, os.fsencode(name), hashes=bool(after.digest))
                if found is None:
                    return Result(path, "its new content is gone")
                if not is_same(found.side, after):
                    return Result(path, MADE)
        except StaleFile as error:
            return Result(path, str(error).removeprefix(f"{path}: "))
        except OSError as error:
            return Result(path, error.strerror or str(error))
        return Result(path, "")

    def folder(self, path: str) -> Result:
        """Make one folder, with those above it that are missing, if there is none yet."""
        parent, _, name = path.rpartition("/")
        try:
            folder = self._folder if parent == self._parent else self._enter(parent, makes=True)
            try:
                os.mkdir(name, dir_fd=folder)
            except FileExistsError:
                found = side_at(folder, os.fsencode(name))
                if found is None or found.side.type != "folder":
                    return Result(path, MADE)
        except OSError as error:
            return Result(path, error.strerror or str(error))
        return Result(path, "")

    def _enter(self, parent: str, *, makes: bool = False) -> int:
        parents, same = parent.split("/") if parent else [], 0
        while same < min(len(parents), len(self._open)) and self._open[same][0] == parents[same]:
            same += 1
        self._parent = "/".join(parents[:same])
        while len(self._open) > same:
            os.close(self._open.pop()[1])
        self._folder = self._open[-1][1] if self._open else self._root
        for part in parents[same:]:
            if makes:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=self._folder)
            self._folder = os.open(part, _INNER, dir_fd=self._folder)
            self._open.append((part, self._folder))
            self._parent = f"{self._parent}/{part}" if self._parent else part
        return self._folder


def _tried(ws: Workspace, row: EffectRow, source: Source, also: Side | None = None, *, is_done: bool) -> Result:
    """Carry a row out. `also`: another state of the path in which nothing is left to do. `is_done`: only look."""
    try:
        return Result(row.path, _carried_out(ws, row, source, also, is_done=is_done))
    except (StaleFile, UnreadableFile, WriteFailed) as error:
        return Result(row.path, str(error).replace(f"{ws.root}/", "", 1).removeprefix(f"{row.path}: "))
    except OSError as error:
        return Result(row.path, error.strerror or str(error))


def _carried_out(ws: Workspace, row: EffectRow, source: Source, also: Side | None, *, is_done: bool) -> str:
    root = os.open(ws.root, FOLDER | os.O_CLOEXEC)
    try:
        path = os.fsencode(row.path)
        seen = side_at(root, path, hashes=not _is_unread(row.before))
        now = None if seen is None else seen.side
        if _is(now, row.after) or (also is not None and _is(now, also)):
            return ""
        if is_done:
            return CHANGED
        if _is_without_mode(now, row):  # a kill came between the new content and its execute bit
            row = EffectRow(path=row.path, before=now, after=row.after)
        elif not _is(now, row.before):
            return CHANGED if row.before is not None else MADE
    finally:
        os.close(root)
    real = ws.root / row.path
    if row.after is None:
        _remove(ws, real, row.before)
    elif row.after.type == "folder":
        with folder_of(ws.root, real, []) as parent:
            os.mkdir(real.name, dir_fd=parent)
    elif row.after.type == "link":
        _link(ws, real, source.load(row.path, row.after), row.before)
    else:
        _write(ws, real, row, row.after, source)
    return ""


def _is_without_mode(now: Side | None, row: EffectRow) -> bool:
    before, after = row.before, row.after
    if now is None or before is None or after is None or not now.type == before.type == after.type == "file":
        return False
    has_content = bool(now.digest) and now.digest == after.digest != before.digest
    return has_content and now.executable == before.executable != after.executable


def _is(now: Side | None, wanted: Side | None) -> bool:
    if now is None or wanted is None:
        return now is wanted
    return is_same(now, wanted)


def _remove(ws: Workspace, real: Path, before: Side | None) -> None:
    assert before is not None  # the caller looked
    if before.type == "file" and before.digest:
        remove_any_file(ws, _state(ws, real, before))
        return
    with folder_of(ws.root, real) as parent:
        if before.type == "folder":
            os.rmdir(real.name, dir_fd=parent)
            return
        aside = temporary_name()
        with ws.leftovers.recorded(real, aside, "moved", before.digest or None):
            rename_new(parent, real.name, aside)
            seen = side_at(parent, os.fsencode(aside), hashes=False)
            if seen is None or not is_same(seen.side, before):
                rename_new(parent, aside, real.name)
                raise StaleFile(f"{real}: it was changed by someone else meanwhile")
            os.unlink(aside, dir_fd=parent)


def _link(ws: Workspace, real: Path, target: bytes, before: Side | None) -> None:
    aside = temporary_name()
    with folder_of(ws.root, real, []) as parent, ws.leftovers.recorded(real, aside, "made"):
        os.symlink(os.fsdecode(target), aside, dir_fd=parent)
        try:
            if before is None:
                rename_new(parent, aside, real.name)
                return
            exchange(parent, aside, real.name)
            if not _is_link_to(parent, aside, before.digest):
                exchange(parent, aside, real.name)
                raise StaleFile(f"{real}: it was changed by someone else meanwhile")
        finally:
            with suppress(FileNotFoundError):
                os.unlink(aside, dir_fd=parent)


def _is_link_to(folder: int, name: str, digest: str) -> bool:
    if not stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        return False
    return _sha256(os.fsencode(os.readlink(name, dir_fd=folder))) == digest


def _write(ws: Workspace, real: Path, row: EffectRow, after: Side, source: Source) -> None:
    if row.before is None or row.before.digest != after.digest:
        before = _state(ws, real, row.before)
        if after.size > IN_MEMORY:
            write_large_file(ws, before, _Large(row.path, after, source))
        else:
            data = source.load(row.path, after)
            if _sha256(data) != after.digest:
                raise StaleFile(f"{row.path}: its new content has changed since it was listed")
            write_any_file(ws, before, data)
    with folder_of(ws.root, real) as parent:
        opened = os.open(real.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent)
        try:
            status = os.fstat(opened)
            mode = stat.S_IMODE(status.st_mode)
            if bool(mode & stat.S_IXUSR) != after.executable:
                os.fchmod(opened, mode | (mode & _READS) >> 2 if after.executable else mode & ~_RUNS)
            if after.mtime_ns:
                os.utime(opened, ns=(status.st_atime_ns, after.mtime_ns))
        finally:
            os.close(opened)


class _Large(NamedTuple):
    """The content of a large file (`LargeContent`)."""

    path: str
    side: Side
    source: Source

    @property
    def digest(self) -> str:
        return self.side.digest

    def make(self, folder: int, name: str) -> None:
        self.source.make(self.path, self.side, folder, name)


def _state(ws: Workspace, real: Path, side: Side | None) -> FileState:
    """Return the state that a file must have, with its bytes if they fit into memory. Raises StaleFile."""
    if side is None:
        return FileState(path=real, real=real, exists=False)
    if side.size > IN_MEMORY:
        return FileState(path=real, real=real, exists=True, sha256=side.digest, size=side.size)
    found = read_state(real, beneath=ws.root)
    if found.sha256 != side.digest:
        raise StaleFile(f"{real}: it was changed by someone else meanwhile")
    return found


def force_out(folder: Path) -> None:
    """Flush the file system of a folder to the disk. Raises OSError."""
    opened = os.open(folder, FOLDER | os.O_CLOEXEC)
    try:
        if ctypes.CDLL(None, use_errno=True).syncfs(ctypes.c_int(opened)):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    finally:
        os.close(opened)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
