"""The SQLite file of a run as storage: transactions, contents, values, and tables next to the events."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from ..host.crash import crash_point
from ..protocol import Event, JournalError, RunSpec, Spent, Stamped, event_type
from . import database
from .blobs import StoredBlobs
from .integrity.chain import Chain, Row, add_chain
from .integrity.checksums import META_DIGEST, meta_digest
from .integrity.journal_tail import TAIL_META, TailWriter, open_tail
from .journal_handle import Handle
from .redact import Redactor
from .sqlite_errors import Broken

_APPEND = "INSERT INTO events(seq, at, step, work, type, body, digest) VALUES (?, ?, ?, ?, ?, ?, ?)"

Entry = tuple[Event, int | None, str | None]
"""An event with its step and its work."""


def redactor_of(spec: RunSpec) -> Redactor:
    """Return the redactor of a run: it hides the secrets of the environment, and the key of its model."""
    sources = (spec.model.key_from, None if spec.web_search is None else spec.web_search.key_from)
    return Redactor.from_env(os.environ, [name for name in sources if name])


class Store:
    """Transactions and everything that is stored next to the events. `Journal` adds the events."""

    def __init__(self, path: Path, connection: sqlite3.Connection, spec: RunSpec) -> None:
        self.path, self.spec = path, spec
        self.now: Callable[[], float] = time.time
        """The clock for timestamps, in Unix seconds."""
        self._db = connection
        self.handle = Handle(path, connection)
        """The connection, for tables that other processes write, too."""
        self.blobs = StoredBlobs(self.handle)
        self._writer = _EventWriter(path, connection)
        self.rollbacks = 0
        """Number of transactions that an exception ended: data that was read in them may not exist."""
        self._depth = 0
        self._durable = False
        self._wrote = False

    @cached_property
    def redactor(self) -> Redactor:
        """The redactor that hides keys in everything that is appended."""
        return redactor_of(self.spec)

    @contextlib.contextmanager
    def transaction(self) -> Generator[None]:
        """Write everything inside in one commit, or nothing after an exception. Can be nested. Do not await inside."""
        with self.handle:
            mark = f"level{self._depth}"
            if not self._wrote:
                self._begin_writing()
            self._writer.flush()
            if not self._depth:
                crash_point("transaction: before it")
            self._db.execute(f"SAVEPOINT {mark}" if self._depth else "BEGIN IMMEDIATE")
            self._depth += 1
            try:
                yield
            except BaseException:
                self._depth -= 1
                self._roll_back(mark)
                raise
            self._depth -= 1
            try:
                if self._depth == 0:
                    self._writer.flush()
                    crash_point("transaction: before its commit")
                self._db.execute(f"RELEASE {mark}" if self._depth else "COMMIT")
            except Broken:
                self._roll_back(mark)
                raise
            if self._depth == 0:
                crash_point("transaction: committed")
                self._flush_log()

    @property
    def in_transaction(self) -> bool:
        """Whether writes are part of a larger commit now."""
        return self._depth > 0

    def changed(self) -> bool:
        """Return whether any process wrote anything since the last call. Takes microseconds."""
        return self.handle.changed()

    @property
    def has_written(self) -> bool:
        """Return whether this handle recorded anything."""
        return self._wrote

    def use_little_memory(self) -> None:
        """Use little memory: for a view, which reads each event once."""
        with self.handle:
            self._db.execute(f"PRAGMA cache_size = -{database.VIEW_CACHE_KIB}")

    def meta(self, key: str) -> str | None:
        """Return a value stored next to the events."""
        with self.handle:
            row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def set_meta(self, key: str, value: str) -> None:
        """Store a value, replacing an earlier one."""
        with self.handle:
            with self.transaction():
                self._db.execute(database.SET_META, (key, value))
                rows = self._db.execute("SELECT key, value FROM meta").fetchall()
                if META_DIGEST in dict(rows):
                    self._db.execute(database.SET_META, (META_DIGEST, meta_digest(rows)))
            self.handle.note_change()

    def add_function(self, name: str, arguments: int, function: Callable[..., int]) -> None:
        """Make a function available to queries through this handle."""
        with self.handle:
            self._db.create_function(name, arguments, function, deterministic=True)

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Query a table next to the events."""
        with self.handle:
            return self._db.execute(sql, values).fetchall()

    def write(self, sql: str, rows: Iterable[Sequence[object]] = ((),)) -> int:
        """Run a statement for each row of values, on a table next to the events, within the current transaction.

        Return the number of changed rows.
        """
        with self.handle:
            if not self._wrote:
                self._begin_writing()
            if self._depth:
                return self._db.executemany(sql, rows).rowcount
            with self.transaction():
                return self._db.executemany(sql, rows).rowcount

    def _begin_writing(self) -> None:
        if self._depth == 0:  # a checkpoint cannot run inside a transaction
            add_chain(self._db, database.SET_META)
            self._writer.begin()
            database.mark_live(self._db)
            self._wrote = True

    def _flush_log(self) -> None:
        """Flush the log after a commit: in WAL mode, `synchronous = NORMAL` leaves it in the system's cache."""
        self.handle.note_change()
        is_durable, self._durable = self._durable, False
        try:
            if is_durable:  # before the record of the end, which must not name an event that a power failure removes
                descriptor = os.open(f"{self.path}-wal", os.O_RDONLY | os.O_CLOEXEC)
                try:
                    os.fdatasync(descriptor)
                finally:
                    os.close(descriptor)
                crash_point("log: forced out")
            self._writer.write_tail(sync=is_durable)
        except OSError as error:
            raise JournalError(f"{self.path} could not be written to the disk: {error.strerror}") from error

    def _roll_back(self, mark: str) -> None:
        self.rollbacks += 1
        self._writer.drop()
        if self._depth == 0:
            self._durable = False
            if self._db.in_transaction:  # SQLite rolls back by itself when the disk is full
                self._db.execute("ROLLBACK")
        elif self._db.in_transaction:
            self._db.execute(f"ROLLBACK TO {mark}")
            self._db.execute(f"RELEASE {mark}")
            self._writer.read_head()


class _EventWriter:
    """Writes the events of one handle, which holds the lock and opens the transactions.

    Each event has the digest of the chain. A record next to the journal names the newest one. A view notices the write
    (`write_watch.py`) and reads it by `Journal.read`.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path, self._db = path, connection
        self._held: list[Row] = []
        """Events of the open transaction: writing all of them at its end takes a third of the time."""
        self._chain = Chain()
        self._tail: TailWriter | None = None
        self._spent: Spent | None = None
        self.bytes_written = 0

    def begin(self) -> None:
        """Open the record next to the journal, before the first event."""
        if self._tail is None:
            row = self._db.execute("SELECT value FROM meta WHERE key = ?", (TAIL_META,)).fetchone()
            self._tail = open_tail(self._path, None if row is None else str(row[0]))

    def write(self, at: float, step: int | None, work: str | None, kind: str, body: bytes) -> Row:
        """Insert an event outside a transaction."""
        while True:
            if self._chain.seq < 0:
                self._chain.read_head(self._db)
            row = self._chain.row(at, step, work, kind, body)
            try:
                self._db.execute(_APPEND, row)
            except sqlite3.IntegrityError:  # another handle appended one since
                self._chain.forget()
                continue
            self._chain.advance(row)
            self.bytes_written += len(body)
            return row

    def hold(self, at: float, entries: Sequence[Entry], encoded: Sequence[tuple[Event, bytes]]) -> list[Stamped]:
        """Return the events as recorded; `flush` writes them."""
        stamped = list[Stamped]()
        if not self._held:  # nobody else can append before this transaction ends
            self._chain.read_head(self._db)
        for (_, step, work), (event, body) in zip(entries, encoded, strict=True):
            row = self._chain.row(at, step, work, event_type(event), body)
            self._chain.advance(row)
            self.bytes_written += len(body)
            self._held.append(row)
            stamped.append(Stamped(row[0], at, step, work, event))
        return stamped

    def flush(self) -> None:
        """Write the events that are held back to be written together."""
        if self._held:
            rows, self._held = self._held, []
            self._db.executemany(_APPEND, rows)

    def note_spent(self, spent: Spent) -> None:
        """Set the usage that the next record contains."""
        self._spent = spent

    def write_tail(self, *, sync: bool = False) -> None:
        """Record the newest event and the usage next to the journal; `sync`: on the disk when this returns."""
        if self._tail is not None and self._chain.seq > 0:
            self._tail.write(self._chain.seq, self._chain.digest, self._spent, sync=sync)

    def drop(self) -> None:
        """Forget the events of a transaction that was rolled back."""
        self._held.clear()
        self._chain.forget()

    def read_head(self) -> None:
        """Read the newest event's digest, after a part of a transaction was rolled back."""
        self._chain.read_head(self._db)

    def close(self) -> None:
        """Close the record next to the journal."""
        if self._tail is not None:
            self._tail.close()
            self._tail = None
