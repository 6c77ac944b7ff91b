"""The index of a runs folder: the line and the totals of each journal that has not changed since it was read.

The index is derived data and may be missing: the journals contain everything. A folder that cannot be written, or an
index that cannot be read, only costs time.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

import msgspec

from ...system import read_plain
from .line import RunLine
from .tally import RunTally

_NAME = "runs.index"
_FORMAT = 5
"""Format version of entries. Increase it when the meaning of an entry changes."""
_LARGEST = 64 << 20
_RACY = 2.0
"""Within this many seconds after a change, another change can leave the same size and time."""
_STALE = 60.0
"""A partly written index older than this many seconds was left by a process that died."""

Key = tuple[int, ...]
"""Inode, size and change time of the journal, then size and change time of its write-ahead log, in nanoseconds."""


class Entry(msgspec.Struct):
    """What is known about a journal as long as it has this key."""

    key: Key
    line: RunLine
    tally: RunTally | None = None
    tally_key: Key = ()
    """Key of the journal when the totals were computed."""

    @property
    def current(self) -> RunTally | None:
        """The totals, if the journal has not changed since."""
        return self.tally if self.tally_key == self.key else None


class _File(msgspec.Struct):
    format: int
    entries: dict[str, Entry]
    """Entries by file name of the journal."""


class Index:
    """The index, read on creation; `save` writes it if entries were added or removed."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _NAME
        self._entries = self._read()
        self._changed = False

    def entry(self, path: Path) -> Entry | None:
        """Return the entry of the journal if the journal has not changed."""
        found = self._entries.get(path.name)
        return found if found is not None and found.key == key_of(path) else None

    def older(self, path: Path) -> RunTally | None:
        """Return earlier totals of the journal, which may have grown since."""
        found = self._entries.get(path.name)
        return found.tally if found is not None and found.key[:1] == key_of(path)[:1] else None

    def put(self, path: Path, key: Key, line: RunLine, tally: RunTally | None = None) -> None:
        """Add an entry. `key`: result of `key_of` before the journal was read."""
        newest = max(key[2::2], default=0)
        if line.is_unreadable or key != key_of(path) or time.time() - newest / 1e9 < _RACY:
            return
        known = self._entries.get(path.name)
        if tally is not None:
            entry = Entry(key, line, tally, key)
        elif known is not None and known.key[:1] == key[:1]:
            entry = Entry(key, line, known.tally, known.tally_key)
        else:
            entry = Entry(key, line)
        self._entries[path.name] = entry
        self._changed = True

    def save(self, names: set[str]) -> None:
        """Write the index with only these journals; all others no longer exist."""
        if not self._changed and not self._entries.keys() - names:
            return
        kept = {name: entry for name, entry in self._entries.items() if name in names}
        data = msgspec.msgpack.encode(_File(_FORMAT, kept))
        new = self._path.with_suffix(".index-new")
        with contextlib.suppress(OSError):  # another process writes it, or the folder cannot be written
            _remove_stale(new)
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            new.replace(self._path)
            self._changed = False

    def _read(self) -> dict[str, Entry]:
        try:
            found = msgspec.msgpack.decode(read_plain(self._path, _LARGEST), type=_File)
        except (OSError, msgspec.DecodeError, ValueError):
            return {}
        return found.entries if found.format == _FORMAT else {}


def key_of(path: Path) -> Key:
    """Return the key of a journal; empty if the journal no longer exists."""
    try:
        status = path.stat()
    except OSError:
        return ()
    try:
        log = path.with_name(path.name + "-wal").stat()
    except OSError:
        return (status.st_ino, status.st_size, status.st_mtime_ns)
    return (status.st_ino, status.st_size, status.st_mtime_ns, log.st_size, log.st_mtime_ns)


def _remove_stale(new: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        if time.time() - new.stat().st_mtime > _STALE:
            new.unlink()
