"""The runs above a child run. Each call of the child must fit their budgets too, and is held in their ledgers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ...budget.admission import over
from ...budget.ledger import USAGE_EVENTS
from ...journal.journal import Journal
from ...protocol import Budget, CallAdmitted, Exhausted, ParentRef, RunSpec, Spent, Stamped

if TYPE_CHECKING:
    from ...protocol.budget import Used
    from ...state.facts.run_facts import RunFacts


class Ancestors:
    """The ledgers of the runs above a run, the nearest first. Without a parent there are none."""

    def __init__(self, facts: RunFacts, journals: list[Journal]) -> None:
        """`journals`: the journals of the runs above, the nearest first."""
        self._facts, self._journals = facts, journals

    @staticmethod
    def of(facts: RunFacts) -> Ancestors:
        """Open the journals of the runs above. One that was deleted ends the chain. Raises JournalError."""
        return Ancestors(facts, _journals_above(facts.spec))

    @property
    def parent(self) -> Journal | None:
        """The journal of the nearest run above, or None if there is none."""
        return self._journals[0] if self._journals else None

    def limits(self, uncounted: float) -> list[tuple[str, Budget, Spent]]:
        """Return for each run above its id, its limits, and what its whole tree uses now.

        `uncounted`: busy seconds of this run that no event has recorded yet.
        """
        own = _spent(self._facts.spending.own_used) + Spent(seconds=uncounted)
        name = self._facts.spec.run_id
        return [
            (above.spec.run_id, above.ledger.budget(), _spent(above.ledger.others(name)) + own)
            for above in self._journals
        ]

    def hold(self, admitted: CallAdmitted, work: str | None) -> Exhausted | None:
        """Hold the worst case of a call in all ledgers. Returns the limit above that is exceeded, or None."""
        spending, name = self._facts.spending, self._facts.spec.run_id
        if not self._journals:
            return None
        used = spending.own_used_with(admitted, work)
        for above in self._journals:
            refused = above.ledger.hold(name, used, _check_of(above.spec.run_id))
            if refused is not None:
                self._note()
                return refused
        return None

    def on_event(self, stamped: Stamped) -> None:
        """Note in all ledgers what this run uses, after each event that changes it."""
        if isinstance(stamped.event, USAGE_EVENTS):
            self._note()

    def close(self) -> None:
        """Close the journals."""
        for above in self._journals:
            above.close()

    def _note(self) -> None:
        for above in self._journals:
            above.ledger.note(self._facts.spec.run_id, self._facts.spending.own_used)


def with_run_id(run_id: str, exhausted: Exhausted) -> Exhausted:
    """Return the limit with the name of the run above that has it."""
    return Exhausted(resource=exhausted.resource, detail=f"{exhausted.detail} (of the parent run {run_id})")


def _check_of(run_id: str) -> Callable[[Budget, Used], Exhausted | None]:
    def check(budget: Budget, used: Used) -> Exhausted | None:
        refused = over(budget, _spent(used))
        return None if refused is None else with_run_id(run_id, refused)

    return check


def _spent(used: Used) -> Spent:
    return Spent(steps=used.steps, held_tokens=used.tokens, held_usd=used.usd, seconds=used.seconds)


def _journals_above(spec: RunSpec) -> list[Journal]:
    found: list[Journal] = []
    above: ParentRef | None = spec.parent
    while above is not None and (path := Path(above.journal)).exists():
        found.append(Journal.open(path))
        above = found[-1].spec.parent
    return found
