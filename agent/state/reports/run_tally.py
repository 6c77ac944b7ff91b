"""Compute the totals of one run for a report. When the journal grows, only new events are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ...budget.ledger import LEDGER_EVENTS, Ledger
from ...protocol import (
    Budget,
    BudgetChanged,
    HandoffOpened,
    HookPoint,
    HookRan,
    HookResult,
    LimitName,
    Reason,
    RunEnded,
    RunResumed,
    RunStarted,
    StallDetected,
    StallKind,
    Stamped,
    Unknown,
)
from ..facts.reached_limit import reached_limit
from ..search.search_result import SearchResult, search_result

if TYPE_CHECKING:
    from ...journal.journal import Journal

LIMITS = ("steps", "tokens", "usd", "seconds")
_COUNTED = (LEDGER_EVENTS | {BudgetChanged, HandoffOpened, HookRan, StallDetected}) - {Unknown}
"""The types of events to read, without `Unknown`, as which damaged events are read."""


class RunStallCount(msgspec.Struct):
    """How often one detector fired in one run, by response."""

    kind: StallKind
    signature: str
    responses: dict[str, int]


class RunHookCount(msgspec.Struct):
    """How often one hook ran in one run, by result."""

    on: HookPoint
    command: str
    results: dict[HookResult, int]


class RunTally(msgspec.Struct):
    """The totals over the events up to `seq`."""

    budget: Budget
    seq: int = 0
    ledger: Ledger = msgspec.field(default_factory=Ledger)
    stalls: list[RunStallCount] = []
    handoffs: list[str] = []
    """The reason of each hand-off."""
    reason: Reason | None = None
    """Reason of the outcome. None means that the run has not ended."""
    limit: LimitName | None = None
    """The limit that ended the run, or None."""
    hooks: list[RunHookCount] = []
    search: SearchResult | None = None
    """The result of a search with lenses that ended."""

    @property
    def used(self) -> dict[str, float]:
        """The usage, by the name of the limit."""
        return dict(zip(LIMITS, self.ledger.counted().figures, strict=True))

    def apply(self, run_id: str, stamped: Stamped) -> None:
        """Fold the next event into the totals."""
        if type(stamped.event) in LEDGER_EVENTS:
            self.ledger.apply(stamped)
        match stamped.event:
            case RunStarted(budget=budget) | BudgetChanged(budget=budget):
                self.budget = budget
            case StallDetected() as event:
                self._stall(event)
            case HandoffOpened(reason=reason):
                self.handoffs.append(reason)
            case HookRan() as event:
                self._hook(event)
            case RunResumed():
                self.reason, self.limit, self.search = None, None, None
            case RunEnded() as event:
                self.reason, self.limit, self.search = event.reason, reached_limit(event), search_result(run_id, event)
            case _:
                pass

    def _stall(self, event: StallDetected) -> None:
        for known in self.stalls:
            if (known.kind, known.signature) == (event.kind, event.signature):
                known.responses[event.response] = known.responses.get(event.response, 0) + 1
                return
        self.stalls.append(RunStallCount(event.kind, event.signature, {event.response: 1}))

    def _hook(self, event: HookRan) -> None:
        for known in self.hooks:
            if (known.on, known.command) == (event.on, event.command):
                known.results[event.result] = known.results.get(event.result, 0) + 1
                return
        self.hooks.append(RunHookCount(event.on, event.command, {event.result: 1}))


def tally_of(journal: Journal, known: RunTally | None = None) -> RunTally:
    """Return the totals over all events. `known`: earlier totals of this journal, to continue. Raises JournalError."""
    newest = journal.last_seq()
    if known is None or known.seq > newest:
        known = RunTally(journal.spec.budget)
    for stamped in journal.read_types(_COUNTED, after=known.seq):
        known.apply(journal.spec.run_id, stamped)
    known.seq = newest
    return known
