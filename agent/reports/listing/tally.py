"""Totals of one run for a report. They can be continued when the journal grows."""

from __future__ import annotations

import msgspec

from ...facts.search.ended import Searched, searched
from ...journal.journal import Journal
from ...protocol import (
    Budget,
    BudgetChanged,
    Charged,
    HandoffOpened,
    HoldReleased,
    ModelSwitched,
    Reason,
    RunEnded,
    RunResumed,
    RunStarted,
    StallDetected,
    StepFinished,
    StepStarted,
)
from ..waiting import events_of

LIMITS = ("steps", "tokens", "usd", "seconds")
_COUNTED = (
    BudgetChanged,
    Charged,
    HandoffOpened,
    HoldReleased,
    ModelSwitched,
    RunEnded,
    RunResumed,
    RunStarted,
    StallDetected,
    StepFinished,
    StepStarted,
)


class Spend(msgspec.Struct):
    """What one model used in one run."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    usd: float | None = 0.0
    """Cost in USD; None: at least one call had no known price."""
    estimated: bool = False


class Firings(msgspec.Struct):
    """Detections by one detector in one run, by the response."""

    kind: str
    signature: str
    responses: dict[str, int]


class RunTally(msgspec.Struct):
    """The totals over the events up to `seq`."""

    budget: Budget
    model: str
    """The model that answers now."""
    seq: int = 0
    used: dict[str, float] = msgspec.field(default_factory=lambda: dict.fromkeys(LIMITS, 0.0))
    """Usage by limit."""
    unpriced: bool = False
    spend: dict[str, Spend] = {}
    """Usage by model."""
    stalls: list[Firings] = []
    handoffs: list[str] = []
    """The reason of each hand-off."""
    reason: Reason | None = None
    """Reason of the outcome; None: the run has not ended."""
    detail: str = ""
    search: Searched | None = None
    """Result of an ended search by lenses."""

    def apply(self, run_id: str, event: object) -> None:
        """Fold the next event into the totals."""
        match event:
            case RunStarted():
                self.budget, self.model = event.budget, event.model
            case BudgetChanged():
                self.budget = event.budget
            case ModelSwitched():
                self.model = event.model
            case StepStarted():
                self.used["steps"] += 1
            case StepFinished():
                self.used["seconds"] += event.seconds
            case Charged():
                self._charge(event)
            case HoldReleased():
                self.used["tokens"] -= event.tokens
                self.used["usd"] -= event.usd
            case StallDetected():
                self._stall(event)
            case HandoffOpened():
                self.handoffs.append(event.reason)
            case RunResumed():
                self.reason, self.detail, self.search = None, "", None
            case RunEnded():
                self.reason, self.detail, self.search = event.reason, event.detail, searched(run_id, event)
            case _:
                pass

    def _charge(self, event: Charged) -> None:
        spend = self.spend.setdefault(event.model or self.model, Spend())
        spend.calls += 1
        spend.tokens_in += event.tokens_in
        spend.tokens_out += event.tokens_out
        spend.usd = None if spend.usd is None or event.usd is None else spend.usd + event.usd
        spend.estimated = spend.estimated or event.estimated
        self.used["tokens"] += event.tokens_in + event.tokens_out + event.held_tokens
        self.used["usd"] += (event.usd or 0.0) + event.held_usd
        self.unpriced = self.unpriced or event.usd is None

    def _stall(self, event: StallDetected) -> None:
        for known in self.stalls:
            if (known.kind, known.signature) == (event.kind, event.signature):
                known.responses[event.response] = known.responses.get(event.response, 0) + 1
                return
        self.stalls.append(Firings(event.kind, event.signature, {event.response: 1}))


def tally_of(journal: Journal, known: RunTally | None = None) -> RunTally:
    """Return the totals over all events. `known`: earlier totals, which are continued. Raises JournalError."""
    newest = journal.last_seq()
    if known is None or known.seq > newest:
        known = RunTally(journal.spec.budget, journal.spec.model.name)
    for stamped in events_of(journal, _COUNTED, after=known.seq):
        known.apply(journal.spec.run_id, stamped.event)
    known.seq = newest
    return known
