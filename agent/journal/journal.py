"""The journal of a run: events, blobs, and the inbox for commands, in one SQLite file."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from ..protocol import (
    Command,
    Event,
    JournalError,
    KnownEvent,
    RunSpec,
    Stamped,
    encode_command,
    event_name,
    event_type,
)
from ..protocol.text.broken_json import BROKEN_JSON
from ..system import crash_point
from . import database
from .claim import holder, is_view_gone
from .encoding import decode, decode_inboxed, encode, encode_all, hide_in_command
from .integrity.beside import META_DIGEST, add_inbox_digest, command_digest, meta_digest
from .integrity.chain import Chain, Row, add_chain
from .integrity.half_made import making_path, sweep_half_made
from .integrity.tail import TailWriter, Used, open_tail
from .redact import Redactor

_READ = "SELECT seq, at, step, work, type, body FROM events WHERE seq > ?{} ORDER BY seq LIMIT ?"
_APPEND = "INSERT INTO events(seq, at, step, work, type, body, digest) VALUES (?, ?, ?, ?, ?, ?, ?)"
_UNTAKEN = "SELECT id, body FROM commands WHERE taken_at IS NULL ORDER BY id"
_UNTAKEN_WHOLE = "SELECT id, at, body, digest FROM commands WHERE taken_at IS NULL ORDER BY id"
_TAKE = "UPDATE commands SET taken_at = ?, body = ?, digest = ? WHERE id = ?"
_SEEN = "INSERT INTO views VALUES (?, ?) ON CONFLICT(view) DO UPDATE SET seen = excluded.seen"

_READ_BYTES = 16 << 20
"""Maximum bytes of events that a limited `read` returns, if it returns more than a few."""
_ROWS_AT_A_TIME = 64

Entry = tuple[Event, int | None, str | None]
"""An event with its step and its work."""


class Journal:
    """A handle on a run's file. Any number of processes may have one; only the runner appends and takes commands.

    Every method raises JournalError with a one-line message if the file cannot be read or written. A handle may be used
    by several threads; a transaction belongs to the thread that opened it, and the others wait.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, spec: RunSpec) -> None:
        """For internal use: call `create` or `open`."""
        self.path = path
        self.spec = spec
        self.now: Callable[[], float] = time.time
        """The clock for timestamps, in Unix seconds."""
        self._db = connection
        if spec.finder is not None:
            connection.execute(f"PRAGMA cache_size = -{database.SEARCH_CACHE_KIB}")
        self._lock = threading.RLock()
        self._one_at_a_time = _Guard(self._lock, path)
        self.rollbacks = 0
        """Number of transactions that an exception ended: data that was read in them may not exist."""
        self._is_only_read = False
        self._depth = 0
        self._durable = False
        self._wrote = False
        self._moved = True
        self._version = -1
        self._appended: list[Row] = []
        """Events of the open transaction: writing all of them at its end takes a third of the time."""
        self._chain = Chain()
        self._tail: TailWriter | None = None
        self._used: Used | None = None
        self._distrusted = frozenset[int]()
        self.on_read: Callable[[int, str], None] | None = None
        """Receives the end of each batch of events, and whether they are read (`reading`) or verified (`checking`)."""
        self.bytes_appended = 0
        """Bytes of the events that this handle recorded."""

    @cached_property
    def redactor(self) -> Redactor:
        """The redactor that hides keys in everything that is appended."""
        return _redactor(self.spec)

    @staticmethod
    def create(path: Path, spec: RunSpec) -> Journal:
        """Create the journal of a new run, readable only by its owner. If it raises JournalError, no file is left."""
        path = path.absolute()
        spec, meta = _described(spec)
        return Journal(path, database.make(path, meta), spec)

    @staticmethod
    def create_unnamed(path: Path, spec: RunSpec) -> Journal:
        """Create a journal that gets its name from `give_name` once it is complete. Raises JournalError, OSError."""
        sweep_half_made(path.parent)
        making = making_path(path.absolute())
        database.fill(making, _described(spec)[1])
        return Journal.open(making)

    @staticmethod
    def open(path: Path) -> Journal:
        """Open a journal, live or ended. Raises JournalError: missing, empty, damaged, not a journal, too new."""
        path = path.absolute()
        return Journal._opened(path, database.open_existing(path))

    @staticmethod
    def look(path: Path) -> Journal:
        """Open a journal only to read its current content. Creates no files, and takes a third of the time."""
        path = path.absolute()
        connection = database.open_settled(path)
        return Journal.open(path) if connection is None else Journal._opened(path, connection, is_settled=True)

    @staticmethod
    def _opened(path: Path, connection: sqlite3.Connection, *, is_settled: bool = False) -> Journal:
        try:
            row = connection.execute("SELECT value FROM meta WHERE key = 'spec'").fetchone()
            if row is None:
                raise JournalError(f"{path} has no task because its run never started: it can be deleted")
            journal = Journal(path, connection, msgspec.json.decode(row[0], type=RunSpec))
            journal._is_only_read = is_settled
            return journal
        except database.Broken as error:
            connection.close()
            raise database.explain(error, path) from error
        except BROKEN_JSON as error:
            connection.close()
            raise JournalError(f"{path} holds a run that this version cannot read ({error}): update rundry") from error
        except JournalError:
            connection.close()
            raise

    def append(
        self, event: Event, *, step: int | None = None, work: str | None = None, durable: bool = False
    ) -> Stamped:
        """Record the event with keys hidden, and return it as recorded.

        After this returns (or the transaction around it ends) it survives a kill, and if `durable` a power failure.
        """
        event, body = encode(event, self.redactor)
        with self._one_at_a_time:
            self._durable = self._durable or durable
            if self._depth:
                (stamped,) = self._keep_for_later([(event, step, work)], [(event, body)])
                return stamped
            if not self._wrote:
                self._begin_writing()
            at = self.now()
            crash_point("event: before it")
            row = self._append_one(at, step, work, event_type(event), body)
            crash_point("event: committed")
            self._settle()
        return Stamped(row[0], at, step, work, event)

    def append_all(self, entries: Sequence[Entry]) -> list[Stamped]:
        """Record several events in order, all or none. For many events this takes half the time of `append`."""
        encoded = encode_all([event for event, _, _ in entries], self.redactor)
        with self._one_at_a_time:
            if self._depth:
                return self._keep_for_later(entries, encoded)
            with self.transaction():
                return self._keep_for_later(entries, encoded)

    @contextlib.contextmanager
    def transaction(self) -> Generator[None]:
        """Write everything inside in one commit, or nothing after an exception. Can be nested. Do not await inside."""
        with self._one_at_a_time:
            mark = f"level{self._depth}"
            if not self._wrote:
                self._begin_writing()
            self._flush()
            if not self._depth:
                crash_point("transaction: before it")
            self._db.execute(f"SAVEPOINT {mark}" if self._depth else "BEGIN IMMEDIATE")
            self._depth += 1
            try:
                yield
            except BaseException:
                self._depth -= 1
                self._undo(mark)
                raise
            self._depth -= 1
            try:
                if self._depth == 0:
                    self._flush()
                    crash_point("transaction: before its commit")
                self._db.execute(f"RELEASE {mark}" if self._depth else "COMMIT")
            except database.Broken:
                self._undo(mark)
                raise
            if self._depth == 0:
                crash_point("transaction: committed")
                self._settle()

    @property
    def in_transaction(self) -> bool:
        """Whether writes are part of a larger commit now."""
        return self._depth > 0

    def read(
        self, after: int = 0, limit: int | None = None, *, without: Sequence[type[KnownEvent]] = ()
    ) -> list[Stamped]:
        """Return the events after that one, oldest first; an event of an unknown type becomes `Unknown`.

        With a `limit`, large events are returned in smaller batches; only an empty list means that there are no more.
        `without`: types to skip, which takes a tenth of the time of reading them.
        """
        names = [event_name(kind) for kind in without]
        query = _READ.format(f" AND type NOT IN ({', '.join('?' * len(names))})" if names else "")
        with self._one_at_a_time:
            self._flush()
            cursor = self._db.execute(query, (after, *names, -1 if limit is None else limit))
            rows = cursor.fetchall() if limit is None else _up_to(cursor, _READ_BYTES)
        if self.on_read is not None and limit is not None and rows:
            self.on_read(rows[-1][0], "reading")
        if self._distrusted:
            rows = [(row[0], 0.0, None, None, None, None) if row[0] in self._distrusted else row for row in rows]
        return [Stamped(seq, at, step, work, decode(kind, body)) for seq, at, step, work, kind, body in rows]

    def last_seq(self) -> int:
        """Return the number of the newest event; 0 if there is none."""
        with self._one_at_a_time:
            self._flush()
            return self._newest()

    def changed(self) -> bool:
        """Return whether any process wrote anything since the last call. Takes microseconds."""
        with self._one_at_a_time:
            version = int(self._db.execute("PRAGMA data_version").fetchone()[0])
            moved, self._moved = self._moved or version != self._version, False
            self._version = version
            return moved

    def keep(self, data: bytes) -> str:
        """Store bytes, once; return their SHA-256 in hex."""
        sha = hashlib.sha256(data).hexdigest()
        with self._one_at_a_time:
            self._db.execute("INSERT INTO blobs VALUES (?, ?) ON CONFLICT DO NOTHING", (sha, data))
            crash_point("content: kept")
        return sha

    def blob(self, sha: str) -> bytes:
        """Return stored bytes. Raises KeyError if they are missing or damaged."""
        with self._one_at_a_time:
            row = self._db.execute("SELECT data FROM blobs WHERE sha = ?", (sha,)).fetchone()
        if row is None or not isinstance(row[0], bytes) or hashlib.sha256(row[0]).hexdigest() != sha:
            raise KeyError(sha)
        return bytes(row[0])

    def put(self, command: Command) -> int:
        """Add a command of a view for the runner; return its id, with which the answer can be found."""
        body = hide_in_command(encode_command(command), self.redactor)
        with self._one_at_a_time:
            at, sql = self.now(), "INSERT INTO commands(at, body) VALUES (?, ?)"
            row: tuple[object, ...] = (at, body)
            if self._has_inbox_digest():
                sql, row = "INSERT INTO commands(at, body, digest) VALUES (?, ?, ?)", (*row, command_digest(at, body))
            added = self._db.execute(sql, row).lastrowid
            self._moved = True
        assert added is not None  # SQLite returns one for every insert
        return added

    def take(self) -> list[tuple[int, Command | None]]:
        """Take and return the untaken commands, oldest first. None: this version does not know the command."""
        with self._one_at_a_time:
            if not self._db.execute(f"{_UNTAKEN} LIMIT 1").fetchone():
                return []
            with self.transaction():
                add_inbox_digest(self._db)
                rows = self._db.execute(_UNTAKEN_WHOLE).fetchall()
                for number, at, body, _ in rows:
                    kept = hide_in_command(body, self.redactor, is_taken=True)
                    self._db.execute(_TAKE, (self.now(), kept, command_digest(at, kept), number))
        return [
            (number, decode_inboxed(body) if digest in (None, command_digest(at, body)) else None)
            for number, at, body, digest in rows
        ]

    def untaken(self) -> list[tuple[int, Command | None]]:
        """Return what `take` would return, without taking it: commands that a dead runner left."""
        with self._one_at_a_time:
            rows = self._db.execute(_UNTAKEN).fetchall()
        return [(number, decode_inboxed(body)) for number, body in rows]

    def attach(self, view: str) -> None:
        """Register a view that has opened this run."""
        self.beat(view)

    def beat(self, view: str) -> None:
        """Record that the view is still open."""
        with self._one_at_a_time:
            self._db.execute(_SEEN, (view, self.now()))

    def detach(self, view: str) -> None:
        """Remove the registration of a view."""
        with self._one_at_a_time:
            self._db.execute("DELETE FROM views WHERE view = ?", (view,))

    def watched(self, within: float = 15.0) -> bool:
        """Return whether a view reported within this many seconds and its process still runs."""
        with self._one_at_a_time:
            rows = self._db.execute("SELECT view FROM views WHERE seen >= ?", (self.now() - within,)).fetchall()
        return any(not is_view_gone(str(view)) for (view,) in rows)

    def note_used(self, used: Used, *, with_next: bool = False) -> None:
        """Record the usage of the run next to the journal; `with_next`: together with the next event."""
        self._used = used
        if not (with_next or self._depth):
            with self._one_at_a_time:
                self._write_tail()

    def is_settled(self) -> bool:
        """Return whether all events were in the one file when the journal was closed."""
        return self.meta("live") in (None, "")

    def distrust(self, damaged: frozenset[int]) -> None:
        """Treat these events as damaged, whatever their bytes contain now."""
        self._distrusted = damaged
        if damaged:
            self._db.text_factory = database.any_text

    @property
    def has_written(self) -> bool:
        """Return whether this handle recorded anything."""
        return self._wrote

    def keep_few_pages(self) -> None:
        """Use little memory: for a view, which reads each event once."""
        with self._one_at_a_time:
            self._db.execute(f"PRAGMA cache_size = -{database.VIEW_CACHE_KIB}")

    def meta(self, key: str) -> str | None:
        """Return a value stored next to the events."""
        with self._one_at_a_time:
            row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def set_meta(self, key: str, value: str) -> None:
        """Store a value, replacing an earlier one."""
        with self._one_at_a_time:
            with self.transaction():
                self._db.execute(database.SET_META, (key, value))
                rows = self._db.execute("SELECT key, value FROM meta").fetchall()
                if META_DIGEST in dict(rows):
                    self._db.execute(database.SET_META, (META_DIGEST, meta_digest(rows)))
            self._moved = True

    def add_function(self, name: str, arguments: int, function: Callable[..., int]) -> None:
        """Make a function available to queries through this handle."""
        with self._one_at_a_time:
            self._db.create_function(name, arguments, function, deterministic=True)

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Query a table next to the events."""
        with self._one_at_a_time:
            return self._db.execute(sql, values).fetchall()

    def write(self, sql: str, rows: Iterable[Sequence[object]] = ((),)) -> int:
        """Run a statement for each row of values, on a table next to the events, within the current transaction.

        Return the number of changed rows.
        """
        with self._one_at_a_time:
            if not self._wrote:
                self._begin_writing()
            if self._depth:
                return self._db.executemany(sql, rows).rowcount
            with self.transaction():
                return self._db.executemany(sql, rows).rowcount

    def landmarks(self) -> list[Event]:
        """Return starts, resumes, ends, steps and charges, oldest first, without reading the other events."""
        query = f"SELECT type, body FROM events WHERE {database.LANDMARKS} ORDER BY seq"
        with self._one_at_a_time:
            rows = self._db.execute(query).fetchall()
        return [decode(kind, body) for kind, body in rows]

    def close(self) -> None:
        """Close the file. Appended events are already safe; a second call does nothing."""
        with self._lock:
            try:
                if self._wrote or not (self._is_only_read or holder(self.path) is not None):
                    database.mark_settled(self._db)
            except (JournalError, *database.Broken):
                pass  # a full disk must not prevent closing: the mark only matters for copies
            finally:
                self._db.close()
                if self._tail is not None:
                    self._tail.close()
                    self._tail = None

    def _begin_writing(self) -> None:
        if self._depth == 0:  # a checkpoint cannot run inside a transaction
            add_chain(self._db, database.SET_META)
            self._tail = self._tail or open_tail(self.path)
            database.mark_live(self._db, self.path)
            self._wrote = True

    def _has_inbox_digest(self) -> bool:
        return bool(self._db.execute("SELECT 1 FROM pragma_table_info('commands') WHERE name = 'digest'").fetchone())

    def _newest(self) -> int:
        return int(self._db.execute("SELECT coalesce(max(seq), 0) FROM events").fetchone()[0])

    def _append_one(self, at: float, step: int | None, work: str | None, kind: str, body: bytes) -> Row:
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
            self.bytes_appended += len(body)
            return row

    def _keep_for_later(self, entries: Sequence[Entry], encoded: Sequence[tuple[Event, bytes]]) -> list[Stamped]:
        at, stamped = self.now(), list[Stamped]()
        if not self._appended:  # nobody else can append before this transaction ends
            self._chain.read_head(self._db)
        for (_, step, work), (event, body) in zip(entries, encoded, strict=True):
            row = self._chain.row(at, step, work, event_type(event), body)
            self._chain.advance(row)
            self.bytes_appended += len(body)
            self._appended.append(row)
            stamped.append(Stamped(row[0], at, step, work, event))
        return stamped

    def _flush(self) -> None:
        if self._appended:
            rows, self._appended = self._appended, []
            self._db.executemany(_APPEND, rows)

    def _settle(self) -> None:
        """Flush the log after a commit: in WAL mode, `synchronous = NORMAL` leaves it in the system's cache."""
        self._moved = True
        is_durable, self._durable = self._durable, False
        try:
            if is_durable:  # before the record of the end, which must not name an event that a power failure removes
                descriptor = os.open(f"{self.path}-wal", os.O_RDONLY | os.O_CLOEXEC)
                try:
                    os.fdatasync(descriptor)
                finally:
                    os.close(descriptor)
                crash_point("log: forced out")
            self._write_tail(sync=is_durable)
        except OSError as error:
            raise JournalError(f"{self.path} could not be written to the disk: {error.strerror}") from error

    def _write_tail(self, *, sync: bool = False) -> None:
        if self._tail is not None and self._chain.seq > 0:
            self._tail.write(self._chain.seq, self._chain.digest, self._used, sync=sync)

    def _undo(self, mark: str) -> None:
        self.rollbacks += 1
        self._appended.clear()
        self._chain.forget()
        if self._depth == 0:
            self._durable = False
            if self._db.in_transaction:  # SQLite rolls back by itself when the disk is full
                self._db.execute("ROLLBACK")
        elif self._db.in_transaction:
            self._db.execute(f"ROLLBACK TO {mark}")
            self._db.execute(f"RELEASE {mark}")
            self._chain.read_head(self._db)


class _Guard:
    """Admits one thread at a time and converts SQLite's errors. A class, because a generator is four times slower."""

    def __init__(self, lock: threading.RLock, path: Path) -> None:
        self._lock, self._path = lock, path

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._lock.release()
        if isinstance(error, database.Broken):
            raise database.explain(error, self._path) from error


def _up_to(cursor: sqlite3.Cursor, most: int) -> list[tuple[Any, ...]]:
    """Return the rows of the events up to about this many bytes."""
    rows, size = list[tuple[Any, ...]](), 0
    while size < most and (some := cursor.fetchmany(_ROWS_AT_A_TIME)):
        rows += some
        size += sum(len(row[5]) for row in some if isinstance(row[5], bytes))
    cursor.close()
    return rows


def _described(spec: RunSpec) -> tuple[RunSpec, dict[str, str]]:
    """Return the spec without keys, and the values stored in a new journal."""
    spec = msgspec.structs.replace(spec, task=_redactor(spec)(spec.task))
    return spec, {"spec": msgspec.json.encode(spec).decode(), "created": repr(time.time())}


def _redactor(spec: RunSpec) -> Redactor:
    return Redactor.from_env(os.environ, [spec.model.key_from] if spec.model.key_from else [])
