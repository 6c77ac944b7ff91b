"""Orders to change a workspace: files that say what is applied, so that what a kill cut off can be carried out later.

An order lies in the layers' folder of its workspace from before its first change until its outcome is in the journal.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec
from msgspec.structs import replace

from ..system.crash import crash_point
from ..workspace.errors import StaleFile
from ..workspace.files.beneath import write_all
from ..workspace.files.write import NEW_FILE
from ..workspace.leftovers.record import Leftovers
from ..workspace.paths import Workspace
from .apply import IN_MEMORY, Result, Row, Source, carry_out, force_out
from .effects import Side
from .git.carry_out import carry_out_git, name_of
from .git.rows import GitChanges
from .opening import FOLDER
from .removing import remove_tree
from .written import Written, rename_beside

_ORDERS, _LOCK = "orders", "lock"
_ORDER, _DONE, _LEFTOVERS, _STAGING = "order", "done", "leftovers", "s"

_GIT = ".git: "
_HELD_BACK = "held back, because a file changed meanwhile"

_Line = tuple[bytes, Side | None, Side | None]
"""A row; its path as bytes, because a text cannot hold each name."""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What is applied to a workspace."""

    workspace: Path
    rows: Sequence[Row]
    written: Path | None = None
    """The folder with what a layer's commands wrote, from which files are moved; None: all bytes are in `contents`."""
    contents: Mapping[str, bytes] = {}
    """The bytes of files, and the targets of links, by path."""
    git: Sequence[GitChanges] = ()
    """What repositories gain: their accepted rows alone. Held back if one of the other rows is a conflict."""
    folder: Path | None = None
    """The folder of the layer in which `git` has its new objects."""


class _Stored(msgspec.Struct, frozen=True, kw_only=True):
    workspace: bytes
    rows: bytes
    written: bytes
    contents: dict[bytes, bytes]
    git: tuple[GitChanges, ...]


def new_name() -> str:
    """Return a new name for an order."""
    return secrets.token_hex(8)


def encode_rows(rows: Sequence[Row]) -> bytes:
    """Encode rows for a file or a journal."""
    return msgspec.msgpack.encode([(os.fsencode(row.path), row.before, row.after) for row in rows])


def decode_rows(data: bytes) -> list[Row]:
    """Return the rows of `encode_rows`."""
    lines = msgspec.msgpack.decode(data, type=list[_Line])
    return [Row(path=os.fsdecode(path), before=before, after=after) for path, before, after in lines]


class Orders:
    """The orders of all runs for one workspace."""

    def __init__(self, base: Path) -> None:
        """`base`: the layers' folder of the workspace."""
        self._folder, self._lock = base / _ORDERS, base / _LOCK
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
        )
        _write_durably(own / _ORDER, msgspec.msgpack.encode(stored))
        _force_names_out(self._folder)
        crash_point("order: given")

    def carry_out(self, name: str) -> list[Result]:
        """Carry an order out, or finish it, unless that was done. Raises OSError and ValueError (a damaged file)."""
        own = self._folder / name
        with self.locked():
            done = self.outcome(name)
            if done is not None:
                return done
            stored = msgspec.msgpack.decode((own / _ORDER).read_bytes(), type=_Stored)
            leftovers = Leftovers(own / _LEFTOVERS)
            leftovers.sweep()
            ws = Workspace(Path(os.fsdecode(stored.workspace)), leftovers=leftovers)
            with _source(stored, own / _STAGING) as source:
                results = carry_out(ws, decode_rows(stored.rows), source)
            results += _carried_out(stored.git, ws, leftovers, is_held_back=any(one.conflict for one in results))
            said = [(os.fsencode(one.path), one.conflict) for one in results]
            _write_durably(own / _DONE, msgspec.msgpack.encode(said))
            return results

    def outcome(self, name: str) -> list[Result] | None:
        """Return what became of the rows of an order; None: it was not carried out completely."""
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
        """Let no other process apply anything in this workspace during the block."""
        lock = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)


def _carried_out(
    repositories: Sequence[GitChanges], ws: Workspace, leftovers: Leftovers, *, is_held_back: bool
) -> list[Result]:
    """Carry out what repositories gain. `is_held_back`: not, because a file is a conflict."""
    results = list[Result]()
    for changes in repositories:
        rows = changes.rows
        if is_held_back:
            rows = tuple(replace(row, conflict=row.conflict or _HELD_BACK) for row in rows)
        for result in carry_out_git(changes, rows, ws.root, leftovers):
            results.append(Result(f"{_GIT}{name_of(result.row)}", result.conflict))
    return results


class _Contents:
    """A source of bytes that an order holds, and of files that a layer holds."""

    def __init__(self, contents: Mapping[bytes, bytes], staging: Path, written: Written | None) -> None:
        self._contents, self._staging, self._written = contents, staging, written

    def load(self, path: str, side: Side) -> bytes:
        found = self._contents.get(os.fsencode(path))
        if found is not None:
            return found
        return self._layer(path).load(path, side)

    def make(self, path: str, side: Side, folder: int, name: str) -> None:
        found = self._contents.get(os.fsencode(path))
        if found is None:
            self._layer(path).make(path, side, folder, name)
            return
        file = self._staging / secrets.token_hex(8)
        made = os.open(file, NEW_FILE, 0o777 if side.executable else 0o666)
        try:
            write_all(made, found)
            os.utime(made, ns=(side.mtime_ns, side.mtime_ns))
            rename_beside(file, folder, name)
        finally:
            os.close(made)
            file.unlink(missing_ok=True)

    def _layer(self, path: str) -> Written:
        if self._written is None:
            raise StaleFile(f"{path}: its new content is gone")
        return self._written


@contextmanager
def _source(stored: _Stored, staging: Path) -> Generator[Source]:
    with ExitStack() as stack:
        upper = Path(os.fsdecode(stored.written))
        written = stack.enter_context(Written(upper, staging)) if stored.written and upper.is_dir() else None
        yield _Contents(stored.contents, staging, written)


def is_held(side: Side | None) -> bool:
    """Return whether an order holds the bytes of this side itself."""
    return side is not None and (
        side.type == "link" or (side.type == "file" and bool(side.digest) and side.size <= IN_MEMORY)
    )


def _write_durably(path: Path, data: bytes) -> None:
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
