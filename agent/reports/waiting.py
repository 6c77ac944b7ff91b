"""What waits for a person in a run, and the state of the run, read from its journal without folding all events."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..facts.common.asking import as_rebased
from ..journal.encoding import decode
from ..journal.journal import Journal
from ..protocol import (
    Budget,
    BudgetChanged,
    Event,
    HandoffClosed,
    HandoffOpened,
    ModelSpec,
    ModelSwitched,
    Paused,
    ProposalDecided,
    ProposalOpened,
    ProposalRebased,
    QuestionAnswered,
    QuestionAsked,
    Queued,
    Rewound,
    RunEnded,
    RunResumed,
    RunStarted,
    Said,
    Stamped,
    Unpaused,
    Unqueued,
)

_ASKED = (
    BudgetChanged,
    HandoffClosed,
    HandoffOpened,
    ModelSwitched,
    Paused,
    ProposalDecided,
    ProposalOpened,
    ProposalRebased,
    QuestionAnswered,
    QuestionAsked,
    Queued,
    RunEnded,
    RunResumed,
    RunStarted,
    Said,
    Rewound,
    Unpaused,
    Unqueued,
)


@dataclass(slots=True)
class Waits:
    """Proposals, questions and state of a run, for views and commands."""

    budget: Budget
    model: ModelSpec | None = None
    """The model that answers now."""
    proposals: dict[str, ProposalOpened] = field(default_factory=dict[str, ProposalOpened])
    """Open proposals by id, oldest first, with the changes of a rebase. They outlive their runner."""
    opened_at: dict[str, float] = field(default_factory=dict[str, float])
    """Unix time at which each proposal was opened, by its id."""
    conflicts: dict[str, str] = field(default_factory=dict[str, str])
    """Why a proposal is in conflict, by its id."""
    _passing: set[str] = field(default_factory=set[str])
    """Proposals that end with their runner: those of search items, or of commands that already ran."""
    questions: dict[str, QuestionAsked] = field(default_factory=dict[str, QuestionAsked])
    queue: dict[int, Queued] = field(default_factory=dict[int, Queued])
    """Messages that wait for the end of the step, by their id."""
    handoff: HandoffOpened | None = None
    paused: Paused | None = None
    started: RunStarted | None = None
    ended: RunEnded | None = None
    asked_at: float = 0.0
    """Unix time of the newest question to a person."""

    def apply(self, stamped: Stamped) -> None:
        """Fold the next event into this state."""
        if isinstance(stamped.event, HandoffOpened | QuestionAsked | ProposalOpened):
            self.asked_at = stamped.at
        match stamped.event:
            case RunStarted() as started:
                self.started, self.budget = started, started.budget
            case BudgetChanged(budget=budget):
                self.budget = budget
            case ModelSwitched(spec=spec):
                self.model = spec or self.model
            case RunResumed():
                self.ended = self.paused = None
                self._runner_gone()
            case RunEnded() as ended:
                self.ended = ended
                self._runner_gone()
            case Rewound():
                self.proposals.clear()
            case Paused() as paused:
                self.paused = paused
            case Unpaused():
                self.paused = None
            case HandoffOpened() as handoff:
                self.handoff = handoff
            case HandoffClosed():
                self.handoff = None
            case ProposalOpened(asks=asks) as opened if asks:
                self.proposals[opened.proposal_id] = opened
                self.opened_at[opened.proposal_id] = stamped.at
                if stamped.work is not None or not opened.call_id:
                    self._passing.add(opened.proposal_id)
            case ProposalRebased() as rebased if rebased.proposal_id in self.proposals:
                opened = self.proposals[rebased.proposal_id]
                self.proposals[rebased.proposal_id] = as_rebased(opened, rebased)
                self.conflicts.pop(rebased.proposal_id, None)
                if rebased.conflict:
                    self.conflicts[rebased.proposal_id] = rebased.why
            case ProposalDecided(proposal_id=proposal_id):
                self.proposals.pop(proposal_id, None)
                self.conflicts.pop(proposal_id, None)
            case QuestionAsked() as asked:
                self.questions[asked.question_id] = asked
            case QuestionAnswered(question_id=question_id):
                self.questions.pop(question_id, None)
            case Queued(queued_id=queued_id) as queued:
                self.queue[queued_id] = queued
            case Unqueued(queued_id=queued_id) | Said(queued_id=int(queued_id)):
                self.queue.pop(queued_id, None)
            case _:
                pass

    def lasting(self) -> dict[str, ProposalOpened]:
        """The proposals that can be decided without a runner."""
        return {name: opened for name, opened in self.proposals.items() if name not in self._passing}

    def _runner_gone(self) -> None:
        self.proposals = self.lasting()
        self.questions.clear()


def what_waits(journal: Journal) -> Waits:
    """Return the state of the run now. Reads no other events. Raises JournalError."""
    waits = Waits(journal.spec.budget, model=journal.spec.model)
    for stamped in events_of(journal, _ASKED):
        waits.apply(stamped)
    return waits


def events_of(journal: Journal, kinds: Iterable[type[Event]], after: int = 0) -> list[Stamped]:
    """Return the events of these types after that one, oldest first. Raises JournalError."""
    tags = [str(kind.__struct_config__.tag) for kind in kinds]
    marks = ", ".join("?" for _ in tags)
    query = f"SELECT seq, at, step, work, type, body FROM events WHERE seq > ? AND type IN ({marks}) ORDER BY seq"
    rows = journal.rows(query, [after, *tags])
    return [Stamped(seq, at, step, work, decode(kind, body)) for seq, at, step, work, kind, body in rows]
