"""Carry accepted effects out in the workspace, each decided by what the workspace holds at that moment.

A row is done if the path already is as it should be, is carried out if the path is as it was, and is a conflict
otherwise. So rows can be repeated after a crash, and what somebody else wrote is never replaced. Undo carries out the
inverse rows.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from ..workspace.errors import StaleFile, UnreadableFile, WriteFailed
from ..workspace.files.beneath import exchange, folder_of, rename_new
from ..workspace.files.states import read_state
from ..workspace.files.temporary import temporary_name
from ..workspace.files.write import remove_any_file, write_any_file
from .effects import Side, is_same, side_at
from .opening import FOLDER

if TYPE_CHECKING:
    from ..workspace.paths import Workspace

_RUNS = stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH
_READS = stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH
"""Everybody who may read a program may run it."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One path, as it was and as it should be; None: nothing."""

    path: str
    before: Side | None
    after: Side | None

    @property
    def inverse(self) -> Row:
        """The row that takes this one back."""
        return Row(path=self.path, before=self.after, after=self.before)


class Result(NamedTuple):
    """What became of a row."""

    path: str
    conflict: str
    """Why it was not carried out; empty: it was."""


Load = Callable[[str, Side], bytes]
"""Returns the bytes of a file, or the target of a link, for a path and a side. Raises OSError."""


def carry_out(ws: Workspace, rows: Sequence[Row], load: Load) -> list[Result]:
    """Carry the rows out, and return what became of each, in the order in which they were tried. Never raises OSError.

    What is deleted goes first, the deepest first, so that a path can change its type; then what is new or changed, a
    folder before what is in it.
    """
    gone = [row for row in rows if row.after is None or _changes_type(row)]
    results = list[Result]()
    failed = set[str]()
    for row in sorted(gone, key=lambda row: row.path, reverse=True):
        first = Row(path=row.path, before=row.before, after=None)
        result = _tried(ws, first, load, also=row.after)
        if result.conflict:
            failed.add(row.path)
        if row.after is None or result.conflict:
            results.append(result)
    for row in sorted((one for one in rows if one.after is not None), key=lambda row: row.path):
        if row.path not in failed:
            started = Row(path=row.path, before=None, after=row.after) if _changes_type(row) else row
            results.append(_tried(ws, started, load))
    return results


def _changes_type(row: Row) -> bool:
    return row.before is not None and row.after is not None and row.before.type != row.after.type


def _tried(ws: Workspace, row: Row, load: Load, also: Side | None = None) -> Result:
    """Carry a row out. `also`: another state of the path in which nothing is left to do."""
    try:
        return Result(row.path, _carried_out(ws, row, load, also))
    except (StaleFile, UnreadableFile, WriteFailed) as error:
        return Result(row.path, str(error).replace(f"{ws.root}/", "", 1).removeprefix(f"{row.path}: "))
    except OSError as error:
        return Result(row.path, error.strerror or str(error))


def _carried_out(ws: Workspace, row: Row, load: Load, also: Side | None) -> str:
    root = os.open(ws.root, FOLDER | os.O_CLOEXEC)
    try:
        path = os.fsencode(row.path)
        seen = side_at(root, path)
        now = None if seen is None else seen.side
        if _is(now, row.after) or (also is not None and _is(now, also)):
            return ""
        if not _is(now, row.before):
            return "it is not as it was any more" if row.before is not None else "somebody else has made it"
    finally:
        os.close(root)
    real = ws.root / row.path
    if row.after is None:
        _remove(ws, real, row.before)
    elif row.after.type == "folder":
        with folder_of(ws.root, real, []) as parent:
            os.mkdir(real.name, dir_fd=parent)
    elif row.after.type == "link":
        _link(ws, real, load(row.path, row.after), row.before)
    else:
        _write(ws, real, row, load)
    return ""


def _is(now: Side | None, wanted: Side | None) -> bool:
    if now is None or wanted is None:
        return now is wanted
    return is_same(now, wanted)


def _remove(ws: Workspace, real: Path, before: Side | None) -> None:
    if before is None or before.type == "file":
        remove_any_file(ws, read_state(real, beneath=ws.root))
        return
    with folder_of(ws.root, real) as parent:
        if before.type == "folder":
            os.rmdir(real.name, dir_fd=parent)
            return
        aside = temporary_name()
        with ws.leftovers.recorded(real, aside, "moved", before.digest):
            rename_new(parent, real.name, aside)
            if not _is_link_to(parent, aside, before.digest):
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


def _write(ws: Workspace, real: Path, row: Row, load: Load) -> None:
    after = row.after
    assert after is not None  # the caller looked
    if row.before is None or row.before.digest != after.digest:
        data = load(row.path, after)
        if _sha256(data) != after.digest:
            raise StaleFile(f"{row.path}: its new content has changed since it was listed")
        write_any_file(ws, read_state(real, beneath=ws.root), data)
    with folder_of(ws.root, real) as parent:
        opened = os.open(real.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent)
        try:
            status = os.fstat(opened)
            mode = stat.S_IMODE(status.st_mode)
            if bool(mode & stat.S_IXUSR) != after.executable:
                os.fchmod(opened, mode | (mode & _READS) >> 2 if after.executable else mode & ~_RUNS)
            os.utime(opened, ns=(status.st_atime_ns, after.mtime_ns))
        finally:
            os.close(opened)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
