"""The SQLite file of a run: create, open and recognize it, and explain its errors to a person.

The file is only opened through SQLite: closing any other descriptor of it in this process would drop the locks
that SQLite holds there (POSIX locks belong to the process: sqlite.org/howtocorrupt, 2.2).
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from ..host.crash import crash_point
from ..protocol import JournalError, JournalUnwritable, NewerJournal
from .integrity.checksums import META_DIGEST, meta_digest
from .integrity.unfinished import probe_path, remove_unfinished, rename_complete, unfinished_path
from .sqlite_errors import BUSY_SECONDS, Broken, explain

APPLICATION_ID = 0x52554E44
""" "RUND": tells a journal from any other database."""
VERSION = 1
_PLAUSIBLE_VERSION = 999
"""A larger number is not the format of a newer rundry but a damaged header."""
_CACHE_KIB = 1_000
"""SQLite's page cache. A run appends, so it fills any cache with pages that it hardly ever reads again."""
SEARCH_CACHE_KIB = 4_000
"""The same for a search, twice SQLite's default: with a million keys each new one is on another page."""
VIEW_CACHE_KIB = 500
"""The same for a view."""
_MARKS = ("run_started", "run_resumed", "run_ended", "step_started", "charged")
LANDMARKS = "(" + " OR ".join(f"type = '{mark}'" for mark in _MARKS) + ")"
"""Condition for the events that lists of runs use. SQLite uses its index only if a query repeats this exact text.

Not `type IN (...)`: SQLite would create a table of that list for each event written, half of the cost of writing.
"""

_SCHEMA = f"""
BEGIN IMMEDIATE;
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {VERSION};
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE events(
    seq INTEGER PRIMARY KEY, at REAL NOT NULL, step INTEGER, work TEXT, type TEXT NOT NULL, body BLOB NOT NULL,
    digest BLOB
) STRICT;
CREATE INDEX landmarks ON events(type) WHERE {LANDMARKS};
CREATE TABLE blobs(sha TEXT PRIMARY KEY, data BLOB NOT NULL) STRICT;
CREATE TABLE commands(
    id INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, body BLOB NOT NULL, taken_at REAL, digest BLOB
) STRICT;
CREATE INDEX untaken ON commands(id) WHERE taken_at IS NULL;
CREATE TABLE views(view TEXT PRIMARY KEY, seen REAL NOT NULL) STRICT, WITHOUT ROWID;
"""

_COPIES = 5
"""How often a journal is copied until no writer changed it meanwhile."""
_LOG_HEADER = 32
"""Bytes of the header of a log; it changes with each new log (sqlite.org/fileformat2.html, 4.1)."""

SET_META = "INSERT INTO meta VALUES (?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value"


def create_file(path: Path, meta: Mapping[str, str]) -> sqlite3.Connection:
    """Create a journal with these values, readable only by its owner, whatever the umask.

    If it raises JournalError, no file is left.
    """
    made_folder = _make_folder(path.parent)
    making = unfinished_path(path)
    try:
        remove_unfinished(path.parent)
        create_tables(making, meta)
        rename_complete(making, path)
    except FileExistsError as error:
        _remove(making, with_folder=False)
        raise JournalError(f"{path} exists already: journals are never overwritten") from error
    except OSError as error:
        _remove(making, with_folder=made_folder)
        raise _no_place(path.parent, error) from error
    except JournalError as error:
        _remove(making, with_folder=made_folder)
        if isinstance(error, JournalUnwritable):
            raise _no_place(path.parent, OSError(errno.ENOSPC, "the disk is full")) from error
        raise
    connection = open_existing(path)
    try:
        mark_live(connection)
    except Broken as error:
        connection.close()
        raise explain(error, path) from error
    return connection


def create_tables(path: Path, meta: Mapping[str, str]) -> None:
    """Create a journal's file with its tables and these values. Raises JournalError, OSError; then remove the file."""
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
    os.fchmod(descriptor, 0o600)
    os.close(descriptor)
    crash_point("journal: empty")
    try:
        with closing(_connect(path)) as connection:
            enable_wal(connection, path.parent)
            connection.executescript(_SCHEMA)
            connection.executemany(SET_META, {**meta, META_DIGEST: meta_digest(list(meta.items()))}.items())
            crash_point("journal: before its commit")
            connection.execute("COMMIT")
            crash_point("journal: made")
    except Broken as error:
        raise explain(error, path) from error


def require_writable_folder(path: Path) -> None:
    """Raise JournalError if no journal can be created at that path. Leaves nothing there."""
    made_folder = _make_folder(path.parent)
    probe = probe_path(path)
    try:
        os.close(os.open(probe, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW, 0o600))
        crash_point("probe: made")
        _remove(probe, with_folder=made_folder)
    except OSError as error:
        if made_folder:
            path.parent.rmdir()
        raise _no_place(path.parent, error) from error


def open_existing(path: Path) -> sqlite3.Connection:
    """Open a journal created by rundry. Raises JournalError if it is something else or cannot be read.

    Where nothing can be written, the connection reads a private copy, and writing through it raises SQLITE_READONLY.
    """
    _require_file(path)
    try:
        if not is_writable(path):
            return _open_copy(path)
        connection = _connect(path)
        try:
            _require_journal(connection, path)
            enable_wal(connection, path.parent)
            _refuse_truncated(connection, path)
        except BaseException:
            connection.close()
            raise
    except Broken as error:
        raise explain(error, path) from error
    return connection


def is_writable(path: Path) -> bool:
    """Return whether this process may write a journal and create files next to it, as SQLite's log requires."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _require_file(path: Path) -> None:
    try:
        size = path.stat().st_size
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            raise JournalError(f"there is no journal at {path}: `rundry runs` lists those that exist") from error
        raise JournalError(f"{path} cannot be read: {error.strerror}") from error
    if not path.is_file():
        raise JournalError(f"{path} is not a file, so it is not a journal")
    if size == 0:
        raise JournalError(f"{path} is empty: nothing was recorded in it, it can be deleted")


def _open_copy(path: Path) -> sqlite3.Connection:
    """Copy a journal with its log to a temporary folder, open the copy for reading, and remove its names.

    SQLite reads a log only where it can create a file next to it (sqlite.org/wal.html, "Read-Only Databases").
    """
    try:
        with tempfile.TemporaryDirectory(prefix="rundry-journal-") as folder:
            copy = Path(folder) / path.name
            for _ in range(_COPIES):
                before = _version(path)
                for name in (path, _log(path)):
                    if name.exists():
                        shutil.copyfile(name, copy.with_name(name.name))
                if _version(path) == before:  # otherwise a writer elsewhere moved pages meanwhile
                    break
            connection = _connect(copy)
            try:
                _require_journal(connection, path)
                _refuse_truncated(connection, copy)
                connection.execute("SELECT count(*) FROM meta").fetchone()  # opens the log before its name goes
                connection.execute("PRAGMA query_only = ON")
            except BaseException:
                connection.close()
                raise
            return connection
    except OSError as error:
        raise JournalError(
            f"{path} cannot be copied to be read: {error.strerror}; set TMPDIR to another folder"
        ) from error


def _version(path: Path) -> list[tuple[int, bytes]]:
    """Return what changes when a writer moves pages from the log to the file or begins a new log."""
    log = _log(path)
    header = b""
    if log.exists():
        with log.open("rb") as file:
            header = file.read(_LOG_HEADER)
    return [(path.stat().st_mtime_ns, header)]


def _log(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def _log_size(path: Path) -> int:
    """Return the size of a journal's log. 0: there is none, also if another process closes the journal just now."""
    try:
        return _log(path).stat().st_size
    except FileNotFoundError:
        return 0


def open_single_file(path: Path) -> sqlite3.Connection | None:
    """Open a journal whose events are all in the one file, to read it without locks and additional files.

    None: it has newer events elsewhere, or something is wrong; `open_existing` then says what.
    """
    if _log_size(path) or not path.is_file():
        return None
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True, isolation_level=None)
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA query_only = ON")
        _require_journal(connection, path)
        live = connection.execute("SELECT value FROM meta WHERE key = 'live'").fetchone()
        page = int(connection.execute("PRAGMA page_size").fetchone()[0])
        is_complete = live is None or live[0] == "" or not is_writable(path)  # there nobody can begin a log
        if is_complete and path.stat().st_size % page == 0:
            return connection
    except (JournalError, *Broken):
        pass
    connection.close()
    return None


def enable_wal(connection: sqlite3.Connection, folder: Path) -> None:
    """Turn on write-ahead logging, so that views can read while the runner writes. Raises JournalError if it fails."""
    answer = str(connection.execute("PRAGMA journal_mode = WAL").fetchone()[0])
    if answer != "wal":
        raise JournalError(
            f"SQLite's write-ahead log does not work in {folder} (it answers {answer!r}; a network folder?): "
            "choose a folder on a local disk with --runs-dir"
        )


def mark_live(connection: sqlite3.Connection) -> None:
    """Record in the file that newer events may be only in its -wal file."""
    connection.execute(SET_META, ("live", "1"))
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)")


def mark_single_file(connection: sqlite3.Connection) -> None:
    """Undo `mark_live`: the last process that closes the journal moves all events to the one file."""
    if connection.execute("SELECT value FROM meta WHERE key = 'live'").fetchone() != ("",):
        connection.execute(SET_META, ("live", ""))


def _refuse_truncated(connection: sqlite3.Connection, path: Path) -> None:
    """Raise JournalError if the end of the file is missing; SQLite itself detects only missing whole pages."""
    page = int(connection.execute("PRAGMA page_size").fetchone()[0])
    if path.stat().st_size % page and not _log_size(path):
        raise JournalError(
            f"{path} is damaged (its end was cut off); restore it from a copy, nothing was changed in it"
        )


def decode_lossy(raw: bytes) -> str:
    """Decode the text of a column that may be damaged."""
    return raw.decode("utf-8", "replace")


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA secure_delete = FAST")
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        connection.execute(f"PRAGMA journal_size_limit = {16 << 20}")
    except BaseException:
        connection.close()
        raise
    return connection


def _make_folder(folder: Path) -> bool:
    """Create the folder if needed, for its owner only whatever the umask. Return whether it was missing."""
    try:
        missing = [place for place in (folder, *folder.parents) if not place.exists()]
        for place in reversed(missing):
            place.mkdir(mode=0o700, exist_ok=True)
            place.chmod(0o700)
        if not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    except OSError as error:
        raise _no_place(folder, error) from error
    return bool(missing)


def _no_place(folder: Path, error: OSError) -> JournalError:
    return JournalError(f"no journal can be created in {folder}: {error.strerror}; choose another with --runs-dir")


def _require_journal(connection: sqlite3.Connection, path: Path) -> None:
    application = int(connection.execute("PRAGMA application_id").fetchone()[0])
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if application == APPLICATION_ID and version <= VERSION:
        return
    if application == APPLICATION_ID and version <= _PLAUSIBLE_VERSION:
        raise NewerJournal(
            f"{path} was written by a newer rundry (format {version}, this one reads up to {VERSION}): update rundry"
        )
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    if tables >= {"meta", "events", "blobs", "commands"}:
        raise JournalError(f"{path} is damaged (its header); restore it from a copy, nothing was changed in it")
    raise JournalError(
        f"{path} is not a journal of rundry: it is another program's database, or was copied without its -wal file"
    )


def _remove(path: Path, *, with_folder: bool) -> None:
    for name in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
        name.unlink(missing_ok=True)
    if with_folder:
        with contextlib.suppress(OSError):  # something else is there: it stays
            path.parent.rmdir()
