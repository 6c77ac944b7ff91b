"""The child runs of a run, derived from its events only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ...protocol import (
    Budget,
    ChildFinished,
    ChildOutcome,
    ChildSpent,
    ChildStarted,
    Event,
    GateModeChanged,
    HandoffClosed,
    Reason,
    RunResumed,
    Spent,
    Stamped,
    Unpaused,
    Woken,
    child_name,
)


@dataclass(slots=True)
class Child:
    """One child run as its parent knows it."""

    number: int
    run_id: str
    journal: str
    about: str
    title: str
    budget: Budget
    started: float
    """Unix time of its start, or of its last resume."""
    call_id: str = ""
    """The call of the model that started it, or empty."""
    spent: Spent = field(default_factory=Spent)
    finished: ChildFinished | None = None
    """The end of its run, or None before its end and after it was continued."""
    finished_at: float = 0.0
    """Unix time of its end."""

    @property
    def is_open(self) -> bool:
        """Whether the child has not ended."""
        return self.finished is None

    @property
    def asks_as(self) -> str:
        """The call, or the work, that a proposal of its changes belongs to."""
        return self.call_id or child_name(self.number)

    @property
    def words(self) -> str:
        """How people and the model read the child run of a chat: `child 2, rename the option`."""
        return f"child {self.number}, {self.title}"

    def stays_words(self, why: str) -> str:
        """Return that changes stay staged, and how to decide on them, for the model and the person."""
        where = f"/apply in its view (/child {self.number}) or `rundry apply {self.run_id}`"
        return f"What is not applied stays in its stage, because {why}.\nThe person decides on it with {where}."

    @property
    def outcome(self) -> ChildOutcome:
        """The state of the child, for the outcome of its parent."""
        ended = self.finished
        return ChildOutcome(
            run_id=self.run_id,
            journal=self.journal,
            about=self.about,
            title=self.title,
            reason=ended.reason if ended is not None else None,
            detail=ended.detail if ended is not None else "",
            complete=ended is not None and ended.complete,
            steps=self.spent.steps,
            usd=None if self.spent.unpriced else self.spent.usd,
            files_changed=ended.files_changed if ended is not None else [],
        )


@dataclass(slots=True)
class Children:
    """All child runs of a run, in the order of their start."""

    by_number: dict[int, Child] = field(default_factory=dict[int, Child])
    woken: bool = False
    """Somebody ended the sleep before the next child."""
    gate_changed_at: float = 0.0
    """Unix time of the last change of the gate's mode in the run itself."""

    @property
    def open(self) -> Child | None:
        """The child that runs, or that continues first after a resume."""
        return next((child for child in self.by_number.values() if child.is_open), None)

    @property
    def newest(self) -> Child | None:
        """The child that started last, or None."""
        return next(reversed(self.by_number.values()), None)

    def apply(self, stamped: Stamped) -> None:
        """Fold the next event of the types in `CHILDREN_EVENTS`."""
        match stamped.event:
            case ChildStarted() as started:
                self.woken = False
                self._start(started, stamped.at)
            case Woken(by=by):
                self.woken = by == "person"
            case ChildSpent(run_id=run_id, spent=spent):
                for child in self.by_number.values():
                    if child.run_id == run_id:
                        child.spent = spent
            case ChildFinished(number=number) as finished:
                if number in self.by_number:
                    self.by_number[number].finished, self.by_number[number].finished_at = finished, stamped.at
            case RunResumed():
                self._reopen(lambda ended: ended.resumes)
            case Unpaused():  # the run paused because of the error
                self._reopen(lambda ended: ended.reason is Reason.ERROR)
            case HandoffClosed():
                self._reopen(lambda ended: ended.resumes and ended.reason is Reason.HANDOFF)
            case GateModeChanged():
                self.gate_changed_at = stamped.at
            case _:
                pass

    def _reopen(self, continues: Callable[[ChildFinished], bool]) -> None:
        for child in self.by_number.values():
            if child.finished is not None and not child.call_id and continues(child.finished):
                child.finished = None

    def _start(self, started: ChildStarted, at: float) -> None:
        known = self.by_number.get(started.number)
        self.by_number[started.number] = Child(
            number=started.number,
            run_id=started.run_id,
            journal=started.journal,
            about=started.about,
            title=started.title,
            budget=started.budget,
            started=at,
            call_id=started.call_id,
            spent=known.spent if known is not None else Spent(),
        )


CHILDREN_EVENTS = frozenset[type[Event]](
    (ChildStarted, ChildSpent, ChildFinished, RunResumed, Unpaused, Woken, HandoffClosed, GateModeChanged)
)
"""The events that change `Children`; all others are ignored."""
