"""The ledger of a run with child runs: what each run below it uses, kept in the journal of that run.

Each run below writes its own row, also from another process, before each of its calls. A row is an absolute amount, so
writing it twice changes nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import msgspec

from ..protocol import Budget
from ..protocol.budget import Used

if TYPE_CHECKING:
    from .journal_handle import Handle

Refused = TypeVar("Refused")

OWN = "own"
"""Name of the row of the run whose ledger it is. The other rows have the id of a run."""
_BUDGET = "budget"
_TABLE = "CREATE TABLE IF NOT EXISTS ledger(name TEXT PRIMARY KEY, body BLOB NOT NULL) STRICT, WITHOUT ROWID"
_EXISTS = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'ledger'"
_SET = "INSERT INTO ledger VALUES (?, ?) ON CONFLICT(name) DO UPDATE SET body = excluded.body"


class BudgetLedger:
    """The ledger in one journal. Every method raises JournalError if the file cannot be read or written."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    def set_budget(self, budget: Budget) -> None:
        """Store the limits that all runs below this one keep together."""
        with self._handle as db:
            db.execute(_TABLE)
            db.execute(_SET, (_BUDGET, msgspec.json.encode(budget)))

    def budget(self) -> Budget:
        """Return the limits; none if they were not stored yet."""
        with self._handle as db:
            return _budget_in(_rows(db))

    def others(self, name: str) -> Used:
        """Return what all runs of the tree except this one use, the run of the ledger included."""
        with self._handle as db:
            return _sum_without(_rows(db), name)

    def note(self, name: str, used: Used) -> None:
        """Store what a run uses, without the runs below it."""
        with self._handle as db:
            db.execute(_TABLE)
            db.execute(_SET, (name, msgspec.json.encode(used)))

    def hold(self, name: str, used: Used, check: Callable[[Budget, Used], Refused | None]) -> Refused | None:
        """Store what a run uses including the call that it is about to make, unless `check` refuses the sum.

        `check` gets the limits and the use of the whole tree, and returns a reason or None. No process can write
        between the check and the amount, which is on the disk when this returns.
        """
        with self._handle as db:
            db.execute(_TABLE)
            db.execute("PRAGMA synchronous = FULL")
            db.execute("BEGIN IMMEDIATE")
            try:
                rows = _rows(db)
                refused = check(_budget_in(rows), _plus(_sum_without(rows, name), used))
                if refused is None:
                    db.execute(_SET, (name, msgspec.json.encode(used)))
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
        return refused


def _rows(db: sqlite3.Connection) -> dict[str, bytes]:
    if not db.execute(_EXISTS).fetchone():
        return {}
    return {str(name): bytes(body) for name, body in db.execute("SELECT name, body FROM ledger")}


def _budget_in(rows: dict[str, bytes]) -> Budget:
    if _BUDGET not in rows:
        return Budget(steps=None, tokens=None, usd=None, seconds=None)
    return msgspec.json.decode(rows[_BUDGET], type=Budget)


def _sum_without(rows: dict[str, bytes], left_out: str) -> Used:
    total = Used()
    for name, body in rows.items():
        if name not in (_BUDGET, left_out):
            total = _plus(total, msgspec.json.decode(body, type=Used))
    return total


def _plus(one: Used, other: Used) -> Used:
    return Used(one.steps + other.steps, one.tokens + other.tokens, one.usd + other.usd, one.seconds + other.seconds)
