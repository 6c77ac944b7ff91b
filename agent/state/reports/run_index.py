"""The runs of a folder, with an index: the line and the totals of each journal that has not changed since it was read.

The index is a cache: the journals contain everything. Without it, or if it cannot be written, lists only take longer.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from ...host.plain_files import read_plain
from ...journal.claim import holder
from ...journal.journal import Journal
from ...protocol import JournalError, UserError
from .run_files import journal_path
from .run_line import RunLine, line_of_run
from .run_tally import RunTally, tally_of

_NAME = "runs.index"
_FORMAT = 15
"""Format version of entries. Increase it when the meaning of an entry changes."""
_LARGEST = 64 << 20
_RACY = 2.0
"""Seconds after a change in which another change may leave the same size and time, so that no entry is stored."""
_STALE = 60.0
"""Age in seconds after which a partly written index counts as left behind by a process that died."""

_Key = tuple[int, ...]
"""Inode, size and change time of the journal, then size and change time of its write-ahead log, in nanoseconds."""


class _Entry(msgspec.Struct):
    """What the index stores about a journal. It is valid while the journal has this key."""

    key: _Key
    line: RunLine
    tally: RunTally | None = None
    tally_key: _Key = ()
    """Key of the journal when the totals were computed."""

    @property
    def current(self) -> RunTally | None:
        """The totals, or None if the journal has changed since they were computed."""
        return self.tally if self.tally_key == self.key else None


class _File(msgspec.Struct):
    format: int
    entries: dict[str, _Entry]
    """Entries by file name of the journal."""


def list_runs(folder: Path) -> list[RunLine]:
    """Return all runs, newest first; for an unreadable run, the line says why. Empty if the folder does not exist."""
    with RunsFolder(folder) as runs:
        return list(runs.lines())


def journals(folder: Path) -> list[Path]:
    """Return the paths of all journals, newest first. Raises UserError if the folder cannot be listed."""
    try:
        found = [path for path in folder.iterdir() if path.suffix == ".db" and path.is_file()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UserError(f"the runs in {folder} cannot be listed: {error.strerror}") from error
    return sorted(found, key=lambda path: path.name, reverse=True)


class RunsFolder:
    """Context manager for a folder of runs. On exit it stores in the index what it read from journals."""

    def __init__(self, folder: Path) -> None:
        """Raises UserError if the folder cannot be listed."""
        self._paths = journals(folder)
        self._index = _Index(folder)

    def lines(self) -> Iterator[RunLine]:
        """Yield a line per run, newest first; for an unreadable run, the line says why."""
        for path in self._paths:
            known = self._index.entry(path)
            yield _with_plan(self._read(path) if known is None else _as_of_now(known.line, path))

    def tally(self, line: RunLine) -> RunTally:
        """Return the totals of the run for a report. Raises JournalError."""
        if line.is_unreadable:
            raise JournalError(line.error or line.state)
        path = Path(line.path)
        known = self._index.entry(path)
        if known is not None and known.current is not None:
            return known.current
        key = _key_of(path)
        journal = Journal.open_for_reading(path)
        try:
            tally = tally_of(journal, self._index.older(path))
        finally:
            journal.close()
        self._index.put(path, key, line, tally)
        return tally

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._index.save({path.name for path in self._paths})

    def _read(self, path: Path) -> RunLine:
        key = _key_of(path)
        line = line_of_run(path)
        self._index.put(path, key, line)
        return line


def _as_of_now(line: RunLine, path: Path) -> RunLine:
    """Add to a line from the index what the journal does not contain: whether it has a runner, and its present path."""
    try:
        state = line.state if line.state == "ended" else "running" if holder(path) is not None else "interrupted"
    except JournalError:
        return line_of_run(path)
    if line.state == "running" and state == "interrupted":  # the calls that were running are cut
        return line_of_run(path)
    return msgspec.structs.replace(line, state=state, path=str(path))


def _with_plan(line: RunLine) -> RunLine:
    """Add whether the plan that was accepted in the run still has to be carried out: another journal shows it."""
    waits = line.then is not None and not journal_path(Path(line.path).parent, line.then).exists()
    return msgspec.structs.replace(line, plan_waits=waits) if waits != line.plan_waits else line


class _Index:
    """The index of a folder, read on creation. `save` writes it if entries were added or removed."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _NAME
        self._entries = self._read()
        self._changed = False

    def entry(self, path: Path) -> _Entry | None:
        """Return the entry of the journal, or None if there is none or the journal has changed since."""
        found = self._entries.get(path.name)
        return found if found is not None and found.key == _key_of(path) else None

    def older(self, path: Path) -> RunTally | None:
        """Return the stored totals of the journal, which may have grown since, or None."""
        found = self._entries.get(path.name)
        return found.tally if found is not None and found.key[:1] == _key_of(path)[:1] else None

    def put(self, path: Path, key: _Key, line: RunLine, tally: RunTally | None = None) -> None:
        """Add an entry. `key`: result of `_key_of` before the journal was read."""
        newest = max(key[2::2], default=0)
        if line.is_unreadable or key != _key_of(path) or time.time() - newest / 1e9 < _RACY:
            return
        known = self._entries.get(path.name)
        if tally is not None:
            entry = _Entry(key, line, tally, key)
        elif known is not None and known.key[:1] == key[:1]:
            entry = _Entry(key, line, known.tally, known.tally_key)
        else:
            entry = _Entry(key, line)
        self._entries[path.name] = entry
        self._changed = True

    def save(self, names: set[str]) -> None:
        """Write the index. `names`: the file names of the existing journals; entries of other names are dropped."""
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

    def _read(self) -> dict[str, _Entry]:
        try:
            found = msgspec.msgpack.decode(read_plain(self._path, _LARGEST), type=_File)
        except (OSError, msgspec.DecodeError, ValueError):
            return {}
        return found.entries if found.format == _FORMAT else {}


def _key_of(path: Path) -> _Key:
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
