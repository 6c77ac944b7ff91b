"""The inbox of a run: commands that views put, and the runner takes."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from ..protocol import Command, encode_command
from .encoding import decode_known_command, redact_command
from .integrity.checksums import add_inbox_digest, command_digest

if TYPE_CHECKING:
    from .event_store import Store
    from .journal_handle import Handle

_UNTAKEN = "SELECT id, body FROM commands WHERE taken_at IS NULL ORDER BY id"
_UNTAKEN_WHOLE = "SELECT id, at, body, digest FROM commands WHERE taken_at IS NULL ORDER BY id"
_TAKE = "UPDATE commands SET taken_at = ?, body = ?, digest = ? WHERE id = ?"


class Inbox:
    """The commands of one journal. Every method raises JournalError if the file cannot be read or written."""

    def __init__(self, store: Store, handle: Handle) -> None:
        self._store, self._handle = store, handle

    def put(self, command: Command) -> int:
        """Add a command of a view for the runner; return its id, with which the answer can be found."""
        body = redact_command(encode_command(command), self._store.redactor)
        with self._handle as db:
            at, sql = self._store.now(), "INSERT INTO commands(at, body) VALUES (?, ?)"
            row: tuple[object, ...] = (at, body)
            if _has_digest(db):
                sql, row = "INSERT INTO commands(at, body, digest) VALUES (?, ?, ?)", (*row, command_digest(at, body))
            added = db.execute(sql, row).lastrowid
            self._handle.note_change()
        assert added is not None  # SQLite returns one for every insert
        return added

    def take(self) -> list[tuple[int, Command | None]]:
        """Take and return the untaken commands, oldest first.

        A command that this version does not know is None.
        """
        with self._handle as db:
            if not db.execute(f"{_UNTAKEN} LIMIT 1").fetchone():
                return []
            with self._store.transaction():
                add_inbox_digest(db)
                rows = db.execute(_UNTAKEN_WHOLE).fetchall()
                for number, at, body, _ in rows:
                    kept = redact_command(body, self._store.redactor, is_taken=True)
                    db.execute(_TAKE, (self._store.now(), kept, command_digest(at, kept), number))
        return [
            (number, decode_known_command(body) if digest in (None, command_digest(at, body)) else None)
            for number, at, body, digest in rows
        ]

    def untaken(self) -> list[tuple[int, Command | None]]:
        """Return what `take` would return, without taking it: commands that a dead runner left."""
        with self._handle as db:
            rows = db.execute(_UNTAKEN).fetchall()
        return [(number, decode_known_command(body)) for number, body in rows]


def _has_digest(db: sqlite3.Connection) -> bool:
    return bool(db.execute("SELECT 1 FROM pragma_table_info('commands') WHERE name = 'digest'").fetchone())
