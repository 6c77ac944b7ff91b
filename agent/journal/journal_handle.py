"""A connection to the file of a run that several threads may use."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

from .sqlite_errors import Broken, explain


class Handle:
    """Context manager that admits one thread at a time to the connection. SQLite's errors leave it as JournalError.

    A class, because a generator is four times slower.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._db = connection
        self._lock = threading.RLock()
        self._is_changed = True
        self._version = -1
        self.is_read_only = connection.execute("PRAGMA query_only").fetchone() == (1,)
        """Whether the connection was opened only to read."""

    def __enter__(self) -> sqlite3.Connection:
        self._lock.acquire()
        return self._db

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._lock.release()
        if isinstance(error, Broken):
            raise explain(error, self.path) from error

    def note_change(self) -> None:
        """Let the next `changed` return True: SQLite's counter ignores what this connection writes."""
        self._is_changed = True

    def changed(self) -> bool:
        """Return whether any process wrote anything since the last call. Takes microseconds."""
        with self as db:
            version = int(db.execute("PRAGMA data_version").fetchone()[0])
            is_changed, self._is_changed = self._is_changed or version != self._version, False
            self._version = version
            return is_changed
