"""Read the state of a run for lists and commands, without reading most of its events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ...protocol import (
    Budget,
    BudgetChanged,
    Fault,
    HandoffOpened,
    ModelSpec,
    ModelSwitched,
    ProposalOpened,
    QuestionAsked,
    Queued,
    RunEnded,
    RunResumed,
    RunStarted,
    StageBegan,
    StageEnded,
    Stamped,
    StepStarted,
    ToolFinished,
    Undone,
)
from ..common.common_facts import CommonFacts
from ..common.handoff_facts import HANDOFF_EVENTS
from ..common.message_queue_facts import QUEUE_EVENTS
from ..common.person_requests import REQUEST_EVENTS
from ..common.void_end import after_undo

if TYPE_CHECKING:
    from ...journal.journal import Journal

_READ = (
    REQUEST_EVENTS | QUEUE_EVENTS | HANDOFF_EVENTS | {BudgetChanged, RunStarted, StageBegan, StageEnded, Undone}
) - {
    Fault,
    StepStarted,
    ToolFinished,
}
"""The types of events that change what waits for a person. Tool results are many: read only if a question is open."""


@dataclass(frozen=True, slots=True)
class RunState:
    """What waits for a person in a run, and the settings that commands can change."""

    budget: Budget
    model: ModelSpec
    """The model for the next call."""
    proposals: Mapping[str, ProposalOpened]
    """Open proposals by id, oldest first, as rebased."""
    opened_at: Mapping[str, float]
    """Unix seconds at which each proposal was opened, by its id."""
    conflicts: Mapping[str, str]
    """Why a proposal is in conflict, by its id."""
    ends_with_runner: frozenset[str]
    """Proposals that end with their runner: those of search items, or of commands that already ran."""
    questions: Mapping[str, QuestionAsked]
    """Open questions by their id, unless the run has ended."""
    queue: Mapping[int, Queued]
    """Queued messages of the user, by their id."""
    handoff: HandoffOpened | None
    """The hand-off that is still open, or None if there is none."""
    ended: RunEnded | None
    """The end of the run, or None if it has not ended or was resumed since."""
    is_staged: bool | None
    """Whether its stage is open. False means applied, dropped or lost; None means that the run has no stage."""
    asked_at: float
    """Unix seconds of the newest hand-off, question or proposal, or 0 if there was none."""

    def decidable_without_runner(self) -> dict[str, ProposalOpened]:
        """Return the proposals that can be decided without a runner."""
        return {name: opened for name, opened in self.proposals.items() if name not in self.ends_with_runner}

    def without_runner(self) -> RunState:
        """Return the state with only the proposals that can be decided without a runner."""
        return replace(self, proposals=self.decidable_without_runner())


def run_state(journal: Journal) -> RunState:
    """Read the current state of a run. Raises JournalError."""
    fold = _Fold(journal.spec.budget, journal.spec.model)
    for stamped in journal.read_types(_READ):
        fold.apply(stamped)
    if fold.common.requests.questions:  # a question is also closed by the result of its call
        for stamped in journal.read_types([ToolFinished], after=fold.question_seq):
            fold.common.apply(stamped)
    return fold.state()


@dataclass(slots=True)
class _Fold:
    budget: Budget
    model: ModelSpec
    common: CommonFacts = field(default_factory=CommonFacts)
    opened_at: dict[str, float] = field(default_factory=dict[str, float])
    ended: RunEnded | None = None
    is_staged: bool | None = None
    asked_at: float = 0.0
    question_seq: int = 0
    """Sequence number of the oldest open question."""

    def apply(self, stamped: Stamped) -> None:
        if isinstance(stamped.event, QuestionAsked) and not self.common.requests.questions:
            self.question_seq = stamped.seq
        self.common.apply(stamped)
        match stamped.event:
            case RunStarted(budget=budget) | BudgetChanged(budget=budget):
                self.budget = budget
            case StageBegan() | StageEnded():
                self.is_staged = isinstance(stamped.event, StageBegan)
            case ModelSwitched(spec=spec):
                self.model = spec or self.model
            case RunResumed():
                self.ended = None
            case RunEnded() as ended:
                self.ended = ended
            case Undone() as undone if self.ended is not None:
                self.ended = after_undo(self.ended, undone)
            case HandoffOpened() | QuestionAsked():
                self.asked_at = stamped.at
            case ProposalOpened(proposal_id=name):
                self.asked_at = self.opened_at[name] = stamped.at
            case _:
                pass

    def state(self) -> RunState:
        requests = self.common.requests
        rebases = {name: rebase.event for name, rebase in requests.rebases.items()}
        return RunState(
            budget=self.budget,
            model=self.model,
            proposals=requests.waiting(),
            opened_at=self.opened_at,
            conflicts={name: event.why for name, event in rebases.items() if event.conflict},
            ends_with_runner=frozenset(requests.ends_with_runner),
            questions=requests.questions if self.ended is None else {},
            queue=self.common.queue.messages,
            handoff=self.common.handoff.opened,
            ended=self.ended,
            is_staged=self.is_staged,
            asked_at=self.asked_at,
        )
