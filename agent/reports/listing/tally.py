"""What a report adds up of one run. It can be continued, so that a run that grows is read on from there."""

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
    """None: at least one call had no price."""
    estimated: bool = False


class Firings(msgspec.Struct):
    """What one detector saw in one run, by what was done about it."""

    kind: str
    signature: str
    responses: dict[str, int]


class RunTally(msgspec.Struct):
    """The sums over the events up to `seq`."""

    budget: Budget
    model: str
    """The one that answers now."""
    seq: int = 0
    used: dict[str, float] = msgspec.field(default_factory=lambda: dict.fromkeys(LIMITS, 0.0))
    """By limit."""
    unpriced: bool = False
    spend: dict[str, Spend] = {}
    """By model."""
    stalls: list[Firings] = []
    handoffs: list[str] = []
    """Why a person was asked, each time."""
    reason: Reason | None = None
    """Of the outcome; None: the run has not ended."""
    detail: str = ""
    search: Searched | None = None
    """Of a search by lenses that ended."""

    def apply(self, run_id: str, event: object) -> None:
        """Take in the next event, in order."""
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
    """The sums over all events; `known`: those over the first of them, which is continued. Raises JournalError."""
    newest = journal.last_seq()
    if known is None or known.seq > newest:
        known = RunTally(journal.spec.budget, journal.spec.model.name)
    for stamped in events_of(journal, _COUNTED, after=known.seq):
        known.apply(journal.spec.run_id, stamped.event)
    known.seq = newest
    return known
