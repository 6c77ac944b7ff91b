"""The journal of a run: events, blobs, and the inbox for commands, in one SQLite file."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ..host.crash import crash_point
from ..host.process_names import is_process_gone
from ..protocol import Event, JournalError, KnownEvent, RunSpec, Spent, Stamped, event_name, event_type
from ..protocol.text.broken_json import BROKEN_JSON
from . import database
from .claim import holder
from .encoding import decode, encode, encode_all
from .event_store import Entry, Store, redactor_of
from .inbox import Inbox
from .integrity.checksums import META_DIGEST, meta_digest
from .integrity.unfinished import remove_unfinished, unfinished_path
from .sqlite_errors import Broken, explain

if TYPE_CHECKING:
    from .journal_handle import Handle

_READ = "SELECT seq, at, step, work, type, body FROM events WHERE seq > ?{} ORDER BY seq LIMIT ?"

READ_BYTES = 16 << 20
"""Maximum bytes of events that a limited `read` returns, if it returns more than a few."""
_ROWS_AT_A_TIME = 64
_SEEN = "INSERT INTO views VALUES (?, ?) ON CONFLICT(view) DO UPDATE SET seen = excluded.seen"


class Journal(Store):
    """A handle on a run's file. Any number of processes may have one; only the runner appends and takes commands.

    Every method raises JournalError with a one-line message if the file cannot be read or written. A handle may be used
    by several threads; a transaction belongs to the thread that opened it, and the others wait.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, spec: RunSpec) -> None:
        """For internal use: call `create` or `open`."""
        super().__init__(path, connection, spec)
        if spec.finder is not None:
            connection.execute(f"PRAGMA cache_size = -{database.SEARCH_CACHE_KIB}")
        self.inbox = Inbox(self, self.handle)
        self.views = AttachedViews(self, self.handle)
        self._damaged = frozenset[int]()
        self.on_read: Callable[[int, str], None] | None = None
        """Receives the end of each batch of events, and whether they are read (`reading`) or verified (`checking`)."""

    @property
    def bytes_appended(self) -> int:
        """Bytes of the events that this handle recorded."""
        return self._writer.bytes_written

    def report_reading(self, on_read: Callable[[int, str], None] | None) -> None:
        """Set the function that `on_read` calls from now on, or None for no function."""
        self.on_read = on_read

    @staticmethod
    def create(path: Path, spec: RunSpec) -> Journal:
        """Create the journal of a new run, readable only by its owner. If it raises JournalError, no file is left."""
        path = path.absolute()
        spec, meta = _described(spec)
        return Journal(path, database.create_file(path, meta), spec)

    @staticmethod
    def create_unnamed(path: Path, spec: RunSpec, now: Callable[[], float]) -> Journal:
        """Create a journal that gets its name from `rename_complete` once it is complete. Raises JournalError, OSError.

        `now`: the clock for timestamps, in Unix seconds.
        """
        remove_unfinished(path.parent)
        making = unfinished_path(path.absolute())
        database.create_tables(making, _described(spec)[1])
        journal = Journal.open(making)
        journal.now = now
        return journal

    @staticmethod
    def open(path: Path) -> Journal:
        """Open a journal, live or ended. Raises JournalError: missing, empty, damaged, not a journal, too new.

        Where nothing can be written (a read-only mount), the journal opens to read, as it is now.
        """
        path = path.absolute()
        return Journal._opened(path, database.open_existing(path))

    @staticmethod
    def open_for_reading(path: Path) -> Journal:
        """Open a journal only to read its current content. Creates no files, and takes a third of the time."""
        path = path.absolute()
        connection = database.open_single_file(path)
        return Journal.open(path) if connection is None else Journal._opened(path, connection)

    @staticmethod
    def _opened(path: Path, connection: sqlite3.Connection) -> Journal:
        try:
            row = connection.execute("SELECT value FROM meta WHERE key = 'spec'").fetchone()
            if row is None:
                raise JournalError(f"{path} has no task because its run never started: it can be deleted")
            return Journal(path, connection, _spec(path, connection, row[0]))
        except Broken as error:
            connection.close()
            raise explain(error, path) from error
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
        with self.handle:
            self._durable = self._durable or durable
            if self._depth:
                (stamped,) = self._writer.hold(self.now(), [(event, step, work)], [(event, body)])
                return stamped
            if not self._wrote:
                self._begin_writing()
            at = self.now()
            crash_point("event: before it")
            row = self._writer.write(at, step, work, event_type(event), body)
            crash_point("event: committed")
            self._flush_log()
        return Stamped(row[0], at, step, work, event)

    def append_all(self, entries: Sequence[Entry]) -> list[Stamped]:
        """Record several events in order, all or none. For many events this takes half the time of `append`."""
        encoded = encode_all([event for event, _, _ in entries], self.redactor)
        with self.handle:
            if self._depth:
                return self._writer.hold(self.now(), entries, encoded)
            with self.transaction():
                return self._writer.hold(self.now(), entries, encoded)

    def read(
        self, after: int = 0, limit: int | None = None, *, without: Sequence[type[KnownEvent]] = ()
    ) -> list[Stamped]:
        """Return the events after that one, oldest first; an event of an unknown type becomes `Unknown`.

        With a `limit`, large events are returned in smaller batches; only an empty list means that there are no more.
        `without`: types to skip, which takes a tenth of the time of reading them.
        """
        names = [event_name(kind) for kind in without]
        query = _READ.format(f" AND type NOT IN ({', '.join('?' * len(names))})" if names else "")
        with self.handle:
            self._writer.flush()
            cursor = self._db.execute(query, (after, *names, -1 if limit is None else limit))
            rows = cursor.fetchall() if limit is None else _up_to(cursor, READ_BYTES)
        if self.on_read is not None and limit is not None and rows:
            self.on_read(rows[-1][0], "reading")
        return self._stamped(rows)

    def read_types(self, kinds: Iterable[type[Event]], after: int = 0) -> list[Stamped]:
        """Return the events of these types after that one, oldest first, without reading the others' content."""
        names = [event_name(kind) for kind in kinds]
        query = _READ.format(f" AND type IN ({', '.join('?' * len(names))})")
        with self.handle:
            self._writer.flush()
            rows = self._db.execute(query, (after, *names, -1)).fetchall()
        return self._stamped(rows)

    def landmarks(self) -> list[Stamped]:
        """Return starts, resumes, ends, steps and charges, oldest first, without reading the other events."""
        query = f"SELECT seq, at, step, work, type, body FROM events WHERE {database.LANDMARKS} ORDER BY seq"
        with self.handle:
            rows = self._db.execute(query).fetchall()
        return self._stamped(rows)

    def last_seq(self) -> int:
        """Return the number of the newest event; 0 if there is none."""
        with self.handle:
            self._writer.flush()
            return int(self._db.execute("SELECT coalesce(max(seq), 0) FROM events").fetchone()[0])

    def note_spent(self, spent: Spent, *, with_next: bool = False) -> None:
        """Record the usage of the run next to the journal; `with_next`: together with the next event."""
        self._writer.note_spent(spent)
        if not (with_next or self._depth):
            with self.handle:
                self._writer.write_tail()

    @property
    def is_read_only(self) -> bool:
        """Whether this handle cannot write, because of how it was opened or where the file is."""
        return self.handle.is_read_only

    def copy_to(self, target: sqlite3.Connection) -> None:
        """Copy all pages of this journal into another database, in one step. Raises JournalError."""
        with self.handle as db:
            db.backup(target)

    def mark_damaged(self, damaged: frozenset[int]) -> None:
        """Treat these events as damaged, whatever their bytes contain now."""
        self._damaged = damaged
        if damaged:
            self._db.text_factory = database.decode_lossy

    def close(self) -> None:
        """Close the file. Appended events are already safe; a second call does nothing."""
        with self.handle:
            try:
                if self._wrote or not (self.is_read_only or holder(self.path) is not None):
                    database.mark_single_file(self._db)
            except (JournalError, *Broken):
                pass  # a full disk must not prevent closing: the mark only matters for copies
            finally:
                self._db.close()
                self._writer.close()

    def _stamped(self, rows: list[tuple[Any, ...]]) -> list[Stamped]:
        if self._damaged:
            rows = [(row[0], 0.0, None, None, None, None) if row[0] in self._damaged else row for row in rows]
        return [Stamped(seq, at, step, work, decode(kind, body)) for seq, at, step, work, kind, body in rows]


class AttachedViews:
    """The views that have a run open. Every method raises JournalError if the file cannot be read or written."""

    def __init__(self, store: Store, handle: Handle) -> None:
        self._store, self._handle = store, handle
        self._above: AttachedViews | None = None

    def beat(self, view: str) -> None:
        """Record that the view has this run open, now for the first time or still. Does nothing if it is read-only."""
        if self._handle.is_read_only:
            return
        with self._handle as db:
            db.execute(_SEEN, (view, self._store.now()))

    def detach(self, view: str) -> None:
        """Remove the registration of a view."""
        if self._handle.is_read_only:
            return
        with self._handle as db:
            db.execute("DELETE FROM views WHERE view = ?", (view,))

    def include(self, above: AttachedViews) -> None:
        """Count the views of the run above this one too: a person who looks at a run can answer for its children."""
        self._above = above

    def is_attended(self, within: float = 15.0) -> bool:
        """Return whether a view reported within this many seconds and its process still runs."""
        with self._handle as db:
            rows = db.execute("SELECT view FROM views WHERE seen >= ?", (self._store.now() - within,)).fetchall()
        if any(not is_process_gone(str(view)) for (view,) in rows):
            return True
        return self._above is not None and self._above.is_attended(within)


def _up_to(cursor: sqlite3.Cursor, limit: int) -> list[tuple[Any, ...]]:
    """Return the rows of the events up to about this many bytes."""
    rows, size = list[tuple[Any, ...]](), 0
    while size < limit and (some := cursor.fetchmany(_ROWS_AT_A_TIME)):
        rows += some
        size += sum(len(row[5]) for row in some if isinstance(row[5], bytes))
    cursor.close()
    return rows


def _spec(path: Path, connection: sqlite3.Connection, raw: str) -> RunSpec:
    try:
        return msgspec.json.decode(raw, type=RunSpec)
    except BROKEN_JSON as error:
        rows: list[tuple[str, str]] = connection.execute("SELECT key, value FROM meta").fetchall()
        if dict(rows).get(META_DIGEST) not in (None, meta_digest(rows)):
            raise JournalError(
                f"{path} is damaged (the run's spec); restore it from a copy, nothing was changed in it"
            ) from error
        raise JournalError(f"{path} holds a run that this version cannot read ({error}): update rundry") from error


def _described(spec: RunSpec) -> tuple[RunSpec, dict[str, str]]:
    """Return the spec without keys, and the values stored in a new journal."""
    redact = redactor_of(spec)
    first = None if spec.first_message is None else redact(spec.first_message)
    spec = msgspec.structs.replace(spec, task=redact(spec.task), first_message=first)
    return spec, {"spec": msgspec.json.encode(spec).decode(), "created": repr(time.time())}
