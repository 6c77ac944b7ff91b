"""Read the frontier while the runner writes it: its tables are next to the events in the journal of the run."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from .item_state import Counts, Item, ItemRow, State

if TYPE_CHECKING:
    from ...journal.journal import Journal

MIDDLE = 1 << 40
"""The first item's place in the queue. New items are placed after it, items that are rolled back before it."""
FINDING = "finding"
"""State and kind of a finding's key. An item and a finding may have the same text as key."""

SCHEMA = (
    """
    CREATE TABLE IF NOT EXISTS frontier(
        id INTEGER PRIMARY KEY, hash INTEGER NOT NULL, key TEXT NOT NULL, kind TEXT NOT NULL, value ANY,
        source TEXT NOT NULL, state TEXT NOT NULL, place INTEGER NOT NULL, attempts INTEGER NOT NULL DEFAULT 0,
        due REAL, error TEXT
    ) STRICT
    """,
    "CREATE INDEX IF NOT EXISTS frontier_hashes ON frontier(hash)",
    "CREATE INDEX IF NOT EXISTS frontier_places ON frontier(state, place)",
    "CREATE INDEX IF NOT EXISTS frontier_times ON frontier(due) WHERE due IS NOT NULL",
    """
    CREATE TABLE IF NOT EXISTS frontier_tally(
        one INTEGER PRIMARY KEY, head INTEGER NOT NULL, tail INTEGER NOT NULL,
        queued INTEGER NOT NULL, waiting INTEGER NOT NULL, working INTEGER NOT NULL, done INTEGER NOT NULL,
        set_aside INTEGER NOT NULL, skipped INTEGER NOT NULL, finding INTEGER NOT NULL
    ) STRICT
    """,
    f"INSERT INTO frontier_tally VALUES (1, {MIDDLE}, {MIDDLE}, 0, 0, 0, 0, 0, 0, 0) ON CONFLICT DO NOTHING",
)
"""The hash of 64 bits is indexed and the keys are compared: an index of the keys would be as large as the keys, and
each lookup would read another page of the disk. Counts are kept in one row and never counted again.
"""
MOVES = "CREATE TABLE IF NOT EXISTS frontier_moves(key TEXT PRIMARY KEY, target TEXT NOT NULL) STRICT, WITHOUT ROWID"
"""Addresses that were worked and only lead to another one, with the key of that one."""
EXISTS = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'frontier_tally'"

_ITEM = "key, kind, value, source, attempts, due"
_ROW = "place, key, kind, value, source, state, attempts, due, error"


class FrontierView:
    """What a search has seen and still has to do. A journal without a frontier reads as an empty one.

    Apart from the size of its result, each method costs the same with ten items and with ten million.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._made = False

    def hash_of(self, key: str) -> int:
        """Return the hash under which a key is stored. It stays the same for the whole life of a journal."""
        return hash_of(key)

    def ready(self, n: int, now: float) -> list[Item]:
        """Return up to `n` items to work now: first those that are due for another attempt, then the queue, oldest
        first.
        """
        due = self._rows(f"SELECT {_ITEM} FROM frontier WHERE due <= ? ORDER BY due, id LIMIT ?", (now, max(0, n)))
        found = [_item(row) for row in due]
        if len(found) < n:
            found += self._in_state(State.QUEUED, n - len(found))
        return found

    def next_due(self, now: float) -> float | None:
        """Return when the next item becomes due, or None if none waits."""
        rows = self._rows("SELECT due FROM frontier WHERE due > ? ORDER BY due LIMIT 1", (now,))
        return rows[0][0] if rows else None

    def counts(self) -> Counts:
        """Return the counts as of the last commit."""
        columns = "queued + waiting, waiting, working, done, set_aside, skipped, finding"
        rows = self._rows(f"SELECT {columns} FROM frontier_tally")
        return Counts(*rows[0]) if rows else Counts()

    def page(self, state: State, *, after: int = 0, limit: int = 100) -> list[ItemRow]:
        """Return items of one state in their order, after the one with the number `after`."""
        query = f"SELECT {_ROW} FROM frontier WHERE state = ? AND place > ? ORDER BY place LIMIT ?"
        return [_row(row) for row in self._rows(query, (state.value, after, limit))]

    def place_behind(self, state: State, after: int, count: int) -> int | None:
        """Return the `number` of the item that is `count` places after that one, or None if there are fewer."""
        query = "SELECT place FROM frontier WHERE state = ? AND place > ? ORDER BY place LIMIT 1 OFFSET ?"
        return next((place for (place,) in self._rows(query, (state.value, after, count - 1))), None)

    def find(self, key: str) -> ItemRow | None:
        """Return the item with that key, or None if it never surfaced."""
        query = f"SELECT {_ROW} FROM frontier WHERE hash = ? AND state != '{FINDING}'"
        return next((_row(row) for row in self._rows(query, (self.hash_of(key),)) if row[1] == key), None)

    def set_aside_keys(self) -> list[str]:
        """Return the keys of all items that failed permanently."""
        query = "SELECT key FROM frontier WHERE state = ? ORDER BY place"
        return [key for (key,) in self._rows(query, (State.SET_ASIDE.value,))]

    def _in_state(self, state: State, limit: int = -1) -> list[Item]:
        query = f"SELECT {_ITEM} FROM frontier WHERE state = ? ORDER BY place LIMIT ?"
        return [_item(row) for row in self._rows(query, (state.value, limit))]

    def _rows(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        return self._journal.rows(query, values) if self._exists() else []

    def _exists(self) -> bool:
        """A table made in a transaction can be rolled back, so this is checked until the table is committed."""
        if self._made:
            return True
        found = bool(self._journal.rows(EXISTS))
        self._made = found and not self._journal.in_transaction
        return found


def _item(row: tuple[Any, ...]) -> Item:
    key, kind, value, source, attempts, due = row
    return Item(key, kind, read_stored(value, key), source, attempts, due)


def _row(row: tuple[Any, ...]) -> ItemRow:
    place, key, kind, value, source, state, attempts, due, error = row
    return ItemRow(place, key, kind, read_stored(value, key), source, State(state), attempts, due, error or "")


def hash_of(key: str) -> int:
    """Return a hash of 64 bits, signed as SQLite stores it. It must stay the same for the whole life of a journal."""
    return int.from_bytes(blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big", signed=True)


def stored(text: str) -> str | bytes:
    """Return the text, or, if it is not UTF-8, bytes that `read_stored` turns into the same text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def read_stored(value: str | bytes | None, key: str) -> str:
    """Return the text that `stored` was given; None stands for the key itself."""
    if value is None:
        return key
    return value if isinstance(value, str) else value.decode("utf-8", "surrogatepass")


def legible(text: str) -> str:
    r"""Return the text with what is not UTF-8 written as `\udcff`."""
    return text.encode("utf-8", "backslashreplace").decode()
