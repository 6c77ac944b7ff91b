"""A record of the newest event and the usage, next to the journal: SQLite drops the damaged end of a log silently."""

from __future__ import annotations

import hashlib
import os
import struct
from pathlib import Path
from typing import NamedTuple

from ...host.crash import crash_point
from ...protocol import JournalError, Spent
from .unfinished import sync_folder

_FORM = struct.Struct("<8sq16sqqdd")
_MAGIC = b"rundry 1"
_CHECK_BYTES = 8
_SIZE = _FORM.size + _CHECK_BYTES
TAIL_META = "tail"
"""Key in `meta` of a backup: the record, in hex, because a backup is a single file."""


class Tail(NamedTuple):
    """The state after the newest commit."""

    seq: int
    """Number of the newest event."""
    digest: bytes
    """Digest of the newest event."""
    spent: Spent
    """What the run has used; only its figures are known."""


def tail_path(journal: Path) -> Path:
    """Return the path of a journal's record."""
    return journal.with_name(journal.name + ".tail")


def read_tail(journal: Path, stored: str | None = None) -> Tail | None:
    """Read the record of a journal, or None if nothing was recorded yet. Raises ValueError if it is damaged, OSError.

    `stored`: the record that a backup holds in its own file (`TAIL_META`), for a journal without one next to it.
    """
    raw = _raw_tail(journal, stored)
    if raw in (b"", bytes(_SIZE)):
        return None
    if len(raw) != _SIZE or _check(raw[: _FORM.size]) != raw[_FORM.size :]:
        raise ValueError("its checksum is wrong")
    _, seq, digest, *figures = _FORM.unpack(raw[: _FORM.size])
    return Tail(seq, digest, Spent.of_figures(*figures))


def _raw_tail(journal: Path, stored: str | None) -> bytes:
    try:
        descriptor = os.open(tail_path(journal), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return bytes.fromhex(stored or "")
    try:
        return os.read(descriptor, _SIZE + 1)
    finally:
        os.close(descriptor)


def tail_for_backup(journal: Path, stored: str | None) -> str:
    """Return the record of a journal as `TAIL_META` of its backup. Raises OSError."""
    return _raw_tail(journal, stored).hex()


class TailWriter:
    """Writes the record of a journal to which this process appends."""

    def __init__(self, descriptor: int, spent: Spent) -> None:
        """For internal use: call `open_tail` to create a writer."""
        self._descriptor = descriptor
        self._spent = spent
        self._written = b""

    def write(self, seq: int, digest: bytes, spent: Spent | None, *, sync: bool) -> None:
        """Record the newest event. It survives a kill, and with `sync` a power failure. Raises OSError."""
        self._spent = spent or self._spent
        raw = _FORM.pack(_MAGIC, seq, digest, *self._spent.figures)
        if raw != self._written:
            os.pwrite(self._descriptor, raw + _check(raw), 0)
            self._written = raw
            crash_point("end: recorded")
        if sync:
            os.fdatasync(self._descriptor)
            crash_point("end: forced out")

    def close(self) -> None:
        """Close the file of the record."""
        os.close(self._descriptor)


def open_tail(journal: Path, stored: str | None = None) -> TailWriter:
    """Return the writer of a journal's record. `stored`: as for `read_tail`. Raises JournalError."""
    try:
        try:
            found = read_tail(journal, stored)
        except ValueError:
            found = None
        if found is None or not tail_path(journal).exists():
            _make(tail_path(journal), bytes(_SIZE) if found is None else _raw_tail(journal, stored))
        descriptor = os.open(tail_path(journal), os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        return TailWriter(descriptor, found.spent if found is not None else Spent())
    except OSError as error:
        raise JournalError(f"{tail_path(journal)} cannot be written: {error.strerror}") from error


def _make(path: Path, raw: bytes) -> None:
    """Create a record, which reserves disk space before events need it. The file appears in one step."""
    making = path.with_name(f"{path.name}.new")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(making, flags, 0o600)
    try:
        os.fchmod(descriptor, 0o600)
        os.pwrite(descriptor, raw, 0)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    crash_point("end: record made")
    making.replace(path)
    sync_folder(path.parent)
    crash_point("end: record named")


def _check(raw: bytes) -> bytes:
    return hashlib.blake2b(raw, digest_size=_CHECK_BYTES).digest()
