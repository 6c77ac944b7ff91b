"""The checksum chain: the digest of each event covers its own bytes and the digest of the previous event."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

DIGEST_BYTES = 16
START = bytes(DIGEST_BYTES)
"""The link of the first event in a chain."""
CHAIN_FROM = "chain_from"
"""Key in `meta`: the first event that has a digest. Journals of earlier versions have events before it."""

_COLUMNS = "SELECT 1 FROM pragma_table_info('events') WHERE name = 'digest'"
_HEAD = "SELECT seq, digest FROM events ORDER BY seq DESC LIMIT 1"
_BATCH = 5_000
_BATCH_BYTES = 16 << 20
_ROWS = """
SELECT seq, at, step, CAST(work AS BLOB), CAST(type AS BLOB), body, digest FROM events
WHERE seq > ? ORDER BY seq LIMIT ?
"""

Row = tuple[int, float, int | None, str | None, str, bytes, bytes]
"""An event with its digest, in the form in which it is inserted."""

Query = Callable[[str, Sequence[object]], list[tuple[Any, ...]]]
"""Runs SQL with values on a journal."""

OnRead = Callable[[int, str], None]
"""Receives the number of the newest event that was read, and the purpose."""


class BrokenLink(NamedTuple):
    """An event that differs from what was recorded."""

    seq: int
    kind: str
    """Its type as it reads now; empty if the event is missing."""
    fault: Literal["does not match its checksum", "has no checksum", "is missing"]

    @property
    def text(self) -> str:
        """The fault as one line of text."""
        return f"event {self.seq} ({self.kind}) {self.fault}" if self.kind else f"event {self.seq} {self.fault}"


def digest_of(before: bytes, seq: int, at: object, step: object, work: object, kind: object, body: bytes) -> bytes:
    """Return the digest of an event whose previous event has the digest `before`."""
    fields = repr((seq, at, step, work, kind)).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(b"%b%b%b" % (before, fields, body), digest_size=DIGEST_BYTES).digest()


class Chain:
    """The newest link, from which the next one is computed."""

    def __init__(self) -> None:
        self.seq = -1
        """Number of the newest event, or -1 if unknown."""
        self.digest = START

    def read_head(self, connection: sqlite3.Connection) -> None:
        """Read the newest link from the journal."""
        row: tuple[int, bytes | None] | None = connection.execute(_HEAD).fetchone()
        self.seq, found = row or (0, START)
        self.digest = found if isinstance(found, bytes) else START

    def forget(self) -> None:
        """Forget the newest link, because a transaction was rolled back or another process appended an event."""
        self.seq = -1

    def row(self, at: float, step: int | None, work: str | None, kind: str, body: bytes) -> Row:
        """Return the next event with its digest. Call `advance` after inserting it."""
        seq = self.seq + 1
        return seq, at, step, work, kind, body, digest_of(self.digest, seq, at, step, work, kind, body)

    def advance(self, row: Row) -> None:
        """Make this event the newest link."""
        self.seq, self.digest = row[0], row[6]


def add_chain(connection: sqlite3.Connection, set_meta: str) -> None:
    """Add a chain to a journal of an earlier version, from its next event on. Do not call it inside a transaction."""

    def query(sql: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        return connection.execute(sql, values).fetchall()

    if has_chain(query):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        if not has_chain(query):
            connection.execute("ALTER TABLE events ADD COLUMN digest BLOB")
            (newest,) = connection.execute("SELECT coalesce(max(seq), 0) FROM events").fetchone()
            connection.execute(set_meta, (CHAIN_FROM, str(newest + 1)))
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def has_chain(query: Query) -> bool:
    """Return whether events of this journal have digests."""
    return bool(query(_COLUMNS, ()))


def broken_links(query: Query, after: int = 0, on_read: OnRead | None = None) -> Iterator[BrokenLink]:
    """Return the events after that one whose bytes differ from what was recorded, oldest first."""
    if not has_chain(query):
        return
    first = _chain_from(query)
    seq = max(after, first - 1)
    before = stored = START if seq < first else _digest_at(query, seq)
    limit = _BATCH // 50
    while rows := query(_ROWS, (seq, limit)):
        limit = _next_limit(rows)
        if on_read is not None:
            on_read(rows[-1][0], "checking")
        for row in rows:
            for missing in range(seq + 1, row[0]):
                yield BrokenLink(missing, "", "is missing")
            seq, kind, digest = row[0], _text(row[4]) or "", row[6]
            values = (seq, row[1], row[2], _text(row[3]), kind, row[5] if isinstance(row[5], bytes) else b"\0")
            computed = digest_of(before, *values)
            if not isinstance(digest, bytes):
                yield BrokenLink(seq, kind, "has no checksum")
            elif digest not in (computed, digest_of(stored, *values)):
                yield BrokenLink(seq, kind, "does not match its checksum")
            before, stored = computed, digest if isinstance(digest, bytes) else computed


def _next_limit(rows: Sequence[tuple[Any, ...]]) -> int:
    """Return how many events to read next, if they are as large as these."""
    size = sum(len(row[5]) for row in rows if isinstance(row[5], bytes))
    return max(1, min(_BATCH, _BATCH_BYTES * len(rows) // max(1, size)))


def is_linked(query: Query, seq: int, digest: bytes) -> bool:
    """Return whether this journal contains that event with that digest."""
    return not has_chain(query) or _digest_at(query, seq) == digest


def _chain_from(query: Query) -> int:
    try:
        return max(1, int(query("SELECT value FROM meta WHERE key = ?", (CHAIN_FROM,))[0][0]))
    except (IndexError, ValueError):
        return 1


def _digest_at(query: Query, seq: int) -> bytes:
    rows = query("SELECT digest FROM events WHERE seq = ?", (seq,))
    return rows[0][0] if rows and isinstance(rows[0][0], bytes) else START


def _text(raw: object) -> str | None:
    return raw.decode("utf-8", "backslashreplace") if isinstance(raw, bytes) else None
