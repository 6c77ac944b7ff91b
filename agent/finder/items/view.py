"""The frontier as anyone may read it, while the runner writes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...journal import Journal
from . import tables
from .item_state import Counts, Item, Row, State

_ITEM = "key, kind, value, source, attempts, due"
_ROW = "place, key, kind, value, source, state, attempts, due, error"


class FrontierView:
    """What a finder has seen and still has to do. A journal without a frontier reads as an empty one.

    Each method costs the same at ten items and at ten million, but for what it gives back.
    """

    def __init__(self, journal: Journal, hash_of: Callable[[str], int] = tables.hash_of) -> None:
        """`hash_of` must be the writer's."""
        self._journal = journal
        self._hash_of = hash_of
        self._made = False

    def ready(self, n: int, now: float) -> list[Item]:
        """Up to `n` items to work now: those whose time to be tried again has come, then the queue, oldest first."""
        due = self._rows(f"SELECT {_ITEM} FROM frontier WHERE due <= ? ORDER BY due, id LIMIT ?", (now, max(0, n)))
        found = [_item(row) for row in due]
        if len(found) < n:
            found += self._in_state(State.QUEUED, n - len(found))
        return found

    def next_due(self, now: float) -> float | None:
        """When the next item that is not due yet is; None: there is none."""
        rows = self._rows("SELECT due FROM frontier WHERE due > ? ORDER BY due LIMIT 1", (now,))
        return rows[0][0] if rows else None

    def counts(self) -> Counts:
        """As of the last commit."""
        columns = "queued + waiting, waiting, working, done, set_aside, skipped, finding"
        rows = self._rows(f"SELECT {columns} FROM frontier_tally")
        return Counts(*rows[0]) if rows else Counts()

    def page(self, state: State, *, after: int = 0, limit: int = 100) -> list[Row]:
        """Items of one state in the order of their queue, from behind the one of that `number` on."""
        query = f"SELECT {_ROW} FROM frontier WHERE state = ? AND place > ? ORDER BY place LIMIT ?"
        return [_row(row) for row in self._rows(query, (state.value, after, limit))]

    def place_behind(self, state: State, after: int, count: int) -> int | None:
        """The `number` of the so-manieth item behind that one; None: there are fewer."""
        query = "SELECT place FROM frontier WHERE state = ? AND place > ? ORDER BY place LIMIT 1 OFFSET ?"
        return next((place for (place,) in self._rows(query, (state.value, after, count - 1))), None)

    def find(self, key: str) -> Row | None:
        """The item of that key; None: it never surfaced."""
        query = f"SELECT {_ROW} FROM frontier WHERE hash = ? AND state != '{tables.FINDING}'"
        return next((_row(row) for row in self._rows(query, (self._hash_of(key),)) if row[1] == key), None)

    def set_aside_keys(self) -> list[str]:
        """Keys of all items that failed for good."""
        query = "SELECT key FROM frontier WHERE state = ? ORDER BY place"
        return [key for (key,) in self._rows(query, (State.SET_ASIDE.value,))]

    def _in_state(self, state: State, limit: int = -1) -> list[Item]:
        query = f"SELECT {_ITEM} FROM frontier WHERE state = ? ORDER BY place LIMIT ?"
        return [_item(row) for row in self._rows(query, (state.value, limit))]

    def _rows(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        return self._journal.rows(query, values) if self._exists() else []

    def _exists(self) -> bool:
        """What was made in a transaction can vanish with it: it is asked again until it stands in a commit."""
        if self._made:
            return True
        found = bool(self._journal.rows(tables.EXISTS))
        self._made = found and not self._journal.in_transaction
        return found


def _item(row: tuple[Any, ...]) -> Item:
    key, kind, value, source, attempts, due = row
    return Item(key, kind, tables.read(value, key), source, attempts, due)


def _row(row: tuple[Any, ...]) -> Row:
    place, key, kind, value, source, state, attempts, due, error = row
    return Row(place, key, kind, tables.read(value, key), source, State(state), attempts, due, error or "")
