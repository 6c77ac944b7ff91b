"""The ledger that a run shares with the runs below it: a table in its journal, with what each run of the tree uses.

Each run writes its own row, also from another process, before each of its calls. A row is an absolute amount, so
writing it twice changes nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ..journal.journal import Journal
from ..protocol import Budget, CallAdmitted, Exhausted, ParentRef, RunSpec, Spent, Stamped
from .admission import passed
from .ledger import USAGE_EVENTS, Left

if TYPE_CHECKING:
    from .ledger import Ledger

_OWN = "own"
"""Name of the row of the run whose journal it is. The other rows have the id of a run."""
_BUDGET = "budget"
_TABLE = "CREATE TABLE IF NOT EXISTS ledger(name TEXT PRIMARY KEY, body BLOB NOT NULL) STRICT, WITHOUT ROWID"
_EXISTS = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'ledger'"
_SET = "INSERT INTO ledger VALUES (?, ?) ON CONFLICT(name) DO UPDATE SET body = excluded.body"


class SharedLedger:
    """What one run uses, in the journals of all runs whose limits it has to keep as well.

    Every method raises JournalError if a file cannot be read or written.
    """

    def __init__(self, journals: Sequence[Journal], name: str, own: Ledger) -> None:
        """`journals`: the nearest run first. `name`: the row of the run. `own`: its ledger."""
        self._journals, self._name, self._own = journals, name, own

    @staticmethod
    def of_runs_above(spec: RunSpec, own: Ledger) -> SharedLedger:
        """Return the one in which a run counts for the runs above it; without a parent there are none.

        It opens their journals; one that was deleted ends the chain. Raises JournalError.
        """
        return SharedLedger(_journals_above(spec), spec.run_id, own)

    @staticmethod
    def of_runs_below(journal: Journal, own: Ledger) -> SharedLedger:
        """Return the one in which a run with child runs counts itself, next to them."""
        return SharedLedger([journal], _OWN, own)

    @property
    def nearest(self) -> Journal | None:
        """The journal of the nearest run, or None if there is none."""
        return self._journals[0] if self._journals else None

    def set_budget(self, budget: Budget) -> None:
        """Store the limits that the whole tree keeps."""
        for journal in self._journals:
            _set(journal, _BUDGET, msgspec.json.encode(budget))

    def left(self, uncounted: float = 0.0) -> list[Left]:
        """Return what the limits of each run leave now, the nearest first.

        `uncounted`: busy seconds of this run that no event has recorded yet.
        """
        own = Spent.of_figures(*self._own.counted_alone().figures) + Spent(seconds=uncounted)
        found: list[Left] = []
        for journal in self._journals:
            with journal.handle as db:
                rows = _rows(db)
            others = _sum_without(rows, self._name)
            found.append(Left(budget=_budget_in(rows), spent=others + own, run_id=journal.spec.run_id))
        return found

    def hold(self, admitted: CallAdmitted, work: str | None) -> Exhausted | None:
        """Count a call of this work with its worst case, on the disk. Returns the limit that it passes, or None.

        No process can write between the check and the amount. After a refusal the call counts nowhere.
        """
        if not self._journals:
            return None
        own = self._own.counted_alone(admitted, work)
        for journal in self._journals:
            refused = _hold(journal, self._name, own)
            if refused is not None:
                self.note()
                return refused
        return None

    def note(self) -> None:
        """Store what the run uses, as its ledger has it: calls that were charged, failed or released count no more."""
        for journal in self._journals:
            _set(journal, self._name, _encoded(self._own.counted_alone()))

    def on_event(self, stamped: Stamped) -> None:
        """Store what the run uses after each event that changes it."""
        if type(stamped.event) in USAGE_EVENTS:
            self.note()

    def close(self) -> None:
        """Close the journals."""
        for journal in self._journals:
            journal.close()


def _hold(journal: Journal, name: str, own: Spent) -> Exhausted | None:
    with journal.handle as db:
        db.execute(_TABLE)
        db.execute("PRAGMA synchronous = FULL")
        db.execute("BEGIN IMMEDIATE")
        try:
            rows = _rows(db)
            spent = _sum_without(rows, name) + Spent.of_figures(*own.figures)
            refused = passed(Left(budget=_budget_in(rows), spent=spent, run_id=journal.spec.run_id))
            if refused is None:
                db.execute(_SET, (name, _encoded(own)))
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
    return refused


def _set(journal: Journal, name: str, body: bytes) -> None:
    with journal.handle as db:
        db.execute(_TABLE)
        db.execute(_SET, (name, body))


def _rows(db: sqlite3.Connection) -> dict[str, bytes]:
    if not db.execute(_EXISTS).fetchone():
        return {}
    return {str(name): bytes(body) for name, body in db.execute("SELECT name, body FROM ledger")}


def _budget_in(rows: dict[str, bytes]) -> Budget:
    if _BUDGET not in rows:
        return Budget(steps=None, tokens=None, usd=None, seconds=None)
    return msgspec.json.decode(rows[_BUDGET], type=Budget)


def _sum_without(rows: dict[str, bytes], left_out: str) -> Spent:
    total = Spent()
    for name, body in rows.items():
        if name not in (_BUDGET, left_out):
            total += Spent.of_figures(*msgspec.json.decode(body, type=tuple[int, int, float, float]))
    return total


def _encoded(spent: Spent) -> bytes:
    return msgspec.json.encode(spent.figures)


def _journals_above(spec: RunSpec) -> list[Journal]:
    found: list[Journal] = []
    above: ParentRef | None = spec.parent
    while above is not None and (path := Path(above.journal)).exists():
        found.append(Journal.open(path))
        above = found[-1].spec.parent
    return found
