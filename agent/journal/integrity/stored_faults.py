"""Faults of the data next to the events, by its checksums: the spec, the commands, and the items of a search."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .checksums import META_DIGEST, command_digest, meta_digest

if TYPE_CHECKING:
    from ..journal import Journal

_BYTES = 5
"""Bytes of an item's checksum: the sum of eight million of these fits into an integer of SQLite."""
_COLUMNS = ("hash", "key", "kind", "value", "source", "state", "place", "attempts", "due", "error")
_ITEM = f"item_digest({', '.join(_COLUMNS)})"
_HAS_SUM = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'frontier_sum'"
_STATES = ("queued", "waiting", "working", "done", "set_aside", "skipped", "finding")
ITEMS_ON_RESUME = 300_000
"""With more items, only `rundry check` reads them: a million takes four seconds."""


def item_digest(*columns: object) -> int:
    """Return the checksum of an item of a search. The sum over all items does not depend on their order."""
    raw = repr(columns).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(raw, digest_size=_BYTES).digest())


def maintain_item_checksum(journal: Journal) -> None:
    """Make each change of an item through this handle also change the sum. Call it inside a transaction."""
    journal.add_function("item_digest", len(_COLUMNS), item_digest)
    if not journal.rows(_HAS_SUM):
        journal.rows("CREATE TABLE frontier_sum(one INTEGER PRIMARY KEY, digest INTEGER NOT NULL) STRICT")
        journal.rows(f"INSERT INTO frontier_sum SELECT 1, coalesce(sum({_ITEM}), 0) FROM frontier")
    new, old = (f"item_digest({', '.join(f'{row}.{name}' for name in _COLUMNS)})" for row in ("NEW", "OLD"))
    for event, change in (("INSERT", new), ("UPDATE", f"{new} - {old}"), ("DELETE", f"-{old}")):
        journal.rows(  # a trigger of this connection: one in the file could not call our function
            f"CREATE TEMP TRIGGER IF NOT EXISTS frontier_{event.lower()} AFTER {event} ON main.frontier BEGIN "
            f"UPDATE frontier_sum SET digest = digest + {change}; END"
        )


def faults_of_spec(journal: Journal) -> Iterator[str]:
    """Yield faults of the spec and the other values. A journal of an earlier version has no checksum of these."""
    rows: list[tuple[str, str]] = journal.rows("SELECT key, value FROM meta")
    known = dict(rows).get(META_DIGEST)
    if known is not None and known != meta_digest(rows):
        yield "the run's spec does not match its checksum"


def faults_of_inbox(journal: Journal) -> Iterator[str]:
    """Yield faults of commands that no runner has read yet."""
    if journal.rows("SELECT 1 FROM pragma_table_info('commands') WHERE name = 'digest'"):
        for number, at, body, digest in journal.rows("SELECT id, at, body, digest FROM commands"):
            if digest is not None and digest != command_digest(at, body):
                yield f"command {number} does not match its checksum"


def faults_of_items(journal: Journal, limit: int | None = None) -> Iterator[str]:
    """Yield faults of the items of a search; nothing is read if there are more than `limit`."""
    if not journal.rows(_HAS_SUM):
        return
    tally = journal.rows(f"SELECT {', '.join(_STATES)}, head, tail FROM frontier_tally")
    if not tally:
        yield "the counts of the search's items are missing"
        return
    counts, (head, tail) = dict(zip(_STATES, tally[0], strict=False)), tally[0][-2:]
    if limit is not None and sum(counts.values()) > limit:
        return
    journal.add_function("item_digest", len(_COLUMNS), item_digest)
    query = f"SELECT state, count(*), sum({_ITEM}), min(place), max(place) FROM frontier GROUP BY state"
    rows = journal.rows(query)
    (known,) = journal.rows("SELECT digest FROM frontier_sum")[0]
    if sum(row[2] for row in rows) != known:
        yield "the search's items do not match their checksum"
    elif {row[0]: row[1] for row in rows} != {state: count for state, count in counts.items() if count}:
        yield "the counts of the search's items are wrong"
    elif any(not head < row[3] <= row[4] <= tail for row in rows):
        yield "the ends of the search's queue are wrong"
