"""Write events in order, each with the digest of the chain, and record the newest one next to the journal."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..protocol import Event, Stamped, event_type
from .integrity.chain import Chain, Row
from .integrity.tail import TAIL_META, TailWriter, open_tail

if TYPE_CHECKING:
    from ..protocol.budget import Used

_APPEND = "INSERT INTO events(seq, at, step, work, type, body, digest) VALUES (?, ?, ?, ?, ?, ?, ?)"

Entry = tuple[Event, int | None, str | None]
"""An event with its step and its work."""


class EventWriter:
    """Writes the events of one handle, which holds the lock and opens the transactions."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path, self._db = path, connection
        self._held: list[Row] = []
        """Events of the open transaction: writing all of them at its end takes a third of the time."""
        self._chain = Chain()
        self._tail: TailWriter | None = None
        self._used: Used | None = None
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

    def note_used(self, used: Used) -> None:
        """Set the usage that the next record contains."""
        self._used = used

    def write_tail(self, *, sync: bool = False) -> None:
        """Record the newest event and the usage next to the journal; `sync`: on the disk when this returns."""
        if self._tail is not None and self._chain.seq > 0:
            self._tail.write(self._chain.seq, self._chain.digest, self._used, sync=sync)

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
