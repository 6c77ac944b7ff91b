"""Read the frontier while the runner writes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import item_tables
from .item_state import Counts, Item, Row, State

if TYPE_CHECKING:
    from ...journal.journal import Journal

_ITEM = "key, kind, value, source, attempts, due"
_ROW = "place, key, kind, value, source, state, attempts, due, error"


class FrontierView:
    """What a search has seen and still has to do. A journal without a frontier reads as an empty one.

    Apart from the size of its result, each method costs the same with ten items and with ten million.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._made = False

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

    def page(self, state: State, *, after: int = 0, limit: int = 100) -> list[Row]:
        """Return items of one state in their order, after the one with the number `after`."""
        query = f"SELECT {_ROW} FROM frontier WHERE state = ? AND place > ? ORDER BY place LIMIT ?"
        return [_row(row) for row in self._rows(query, (state.value, after, limit))]

    def place_behind(self, state: State, after: int, count: int) -> int | None:
        """Return the `number` of the item that is `count` places after that one, or None if there are fewer."""
        query = "SELECT place FROM frontier WHERE state = ? AND place > ? ORDER BY place LIMIT 1 OFFSET ?"
        return next((place for (place,) in self._rows(query, (state.value, after, count - 1))), None)

    def find(self, key: str) -> Row | None:
        """Return the item with that key, or None if it never surfaced."""
        query = f"SELECT {_ROW} FROM frontier WHERE hash = ? AND state != '{item_tables.FINDING}'"
        return next((_row(row) for row in self._rows(query, (item_tables.hash_of(key),)) if row[1] == key), None)

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
        found = bool(self._journal.rows(item_tables.EXISTS))
        self._made = found and not self._journal.in_transaction
        return found


def _item(row: tuple[Any, ...]) -> Item:
    key, kind, value, source, attempts, due = row
    return Item(key, kind, item_tables.read(value, key), source, attempts, due)


def _row(row: tuple[Any, ...]) -> Row:
    place, key, kind, value, source, state, attempts, due, error = row
    return Row(place, key, kind, item_tables.read(value, key), source, State(state), attempts, due, error or "")
