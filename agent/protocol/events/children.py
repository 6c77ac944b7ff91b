"""Events of a run about its child runs. Each child has a journal and an outcome of its own."""

from __future__ import annotations

import msgspec

from ..budget import Budget, LimitName, Spent
from ..loops import LoopKind, Target
from ..outcome import Reason
from ..reviewed_diff import RepairResult
from .base import EventBase, WaitsFor


class ChildStarted(EventBase, frozen=True, kw_only=True):
    """A child run starts, or resumes with a new share of the budget."""

    number: int
    """Number of the child, from 1."""
    run_id: str
    journal: str
    loop: LoopKind
    about: str
    """Key of the finding that it works on."""
    title: str
    budget: Budget
    """Its share of the budget of this run."""
    call_id: str = ""
    """The call of the model that started it. Empty in runs that start their child runs themselves."""


class ChildSpent(EventBase, frozen=True, kw_only=True):
    """What a child run and its own children have used so far."""

    run_id: str
    spent: Spent = Spent()


class ChildWaiting(EventBase, frozen=True, kw_only=True):
    """A child run waits until somebody acts on it. It no longer waits when it spends again or ends."""

    number: int
    run_id: str
    why: WaitsFor


class NewFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A finding that no earlier search of a repeat run had."""

    key: str
    title: str


class ChildFinished(EventBase, frozen=True, kw_only=True):
    """A child run ended, or stopped together with this run."""

    number: int
    run_id: str
    reason: Reason
    detail: str
    complete: bool
    exit_code: int
    limit: LimitName | None = None
    """The limit that ended the child, as in `run_ended`."""
    resumes: bool = False
    """The child did not finish its work, and continues when this run is resumed."""
    files_changed: list[str] = []
    said: str = ""
    """What the child says that it did, on one line."""
    new: list[NewFinding] | None = None
    """In a repeat run: the findings that no earlier search had; None in other runs."""
    targets: list[Target] | None = None
    """In a review run, of a search: what its findings need as repairs; None in other runs."""
    repair: RepairResult = ""
    """In a review run, of a repair: what became of its changes."""


ChildrenEvent = ChildStarted | ChildSpent | ChildWaiting | ChildFinished
"""The events of this module."""


def child_name(number: int) -> str:
    """Return the name of the work order of a child: `child:3`."""
    return f"child:{number}"
