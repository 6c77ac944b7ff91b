"""The outcome of a run: one reason, and everything that a caller needs to trust it."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from .budget import Held, LimitName, Tokens
from .coverage import Coverage, Estimate
from .evidence import Evidence
from .reviewed_diff import EXIT_FOUND


class Reason(StrEnum):
    """Why a run ended (docs/requirements.md 4.1). Programs read this value; people read `detail`."""

    DONE = "done"
    """The check or another success condition passed."""
    ANSWERED = "answered"
    """A run without a check: a finish with citations was accepted, or with `--print` the model answered in text."""
    DRY = "dry"
    """A search found nothing new in its last passes."""
    PLATEAU = "plateau"
    """The best score did not improve any more."""
    CLAIMED = "claimed"
    """The model of a `naive` loop stopped; its checks only inform."""
    BUDGET = "budget"
    """A limit was reached: steps, tokens, USD, seconds, the deadline or a quota. `detail` says which."""
    STAGNATION = "stagnation"
    """The run repeated the same action with the same result."""
    OSCILLATION = "oscillation"
    """The run alternated between the same states."""
    TOOL_ERRORS = "tool-errors"
    """Too many of the newest tool calls failed."""
    HANDOFF = "handoff"
    """The run waits for a person."""
    USER = "user"
    """A person stopped the run."""
    PARTIAL = "partial"
    """All child runs ended, but not all of them are complete."""
    REFUSED = "refused"
    """The run could not start; nothing was changed."""
    ERROR = "error"
    """The model or the program failed permanently."""

    @property
    def words(self) -> str:
        """The reason as people read it."""
        match self:
            case Reason.USER:
                return "stopped"
            case Reason.HANDOFF:
                return "hand-off"
            case Reason.TOOL_ERRORS:
                return "tool errors"
            case _:
                return self.value


ALWAYS_COMPLETE = frozenset({Reason.DONE, Reason.ANSWERED, Reason.PLATEAU})
"""With these reasons the work is always complete. With `dry` it can be; with all others it never is."""


def exit_code(reason: Reason, *, complete: bool, retryable: bool = False, has_found: bool = False) -> int:
    """Return the process exit code. A dry run that is not complete gives 6, a retryable error 75.

    `has_found`: it is a review with findings that count.
    """
    match reason:
        case Reason.DONE | Reason.ANSWERED | Reason.PLATEAU:
            return 0
        case Reason.DRY:
            return (EXIT_FOUND if has_found else 0) if complete else 6
        case Reason.CLAIMED | Reason.PARTIAL:
            return 6
        case Reason.BUDGET:
            return 3
        case Reason.STAGNATION | Reason.OSCILLATION | Reason.TOOL_ERRORS:
            return 4
        case Reason.HANDOFF:
            return 5
        case Reason.USER:
            return 130
        case Reason.REFUSED:
            return 2
        case Reason.ERROR:
            return 75 if retryable else 1


class FindingCounts(msgspec.Struct, frozen=True):
    confirmed: int = 0
    refuted: int = 0


class ChildOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a child run stands at the end of its parent."""

    run_id: str
    journal: str
    about: str
    """Key of the finding that it works on."""
    title: str
    reason: Reason | None = None
    """None means that it has not ended."""
    detail: str = ""
    complete: bool = False
    steps: int = 0
    usd: float | None = 0.0
    """Cost in USD. None means that a call had no known price."""
    files_changed: list[str] = []
    """The files that it changed in the workspace itself. What its parent applied is in the parent's own list."""


class EndedJob(msgspec.Struct, frozen=True, kw_only=True):
    """A background command that still ran at the end of the run, which ended it."""

    name: str
    command: str
    seconds: float = 0.0
    """How long it ran."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended. These are also the fields of the `run_ended` event."""

    reason: Reason
    detail: str
    complete: bool
    exit_code: int
    retryable: bool = False
    limit: LimitName | None = None
    """The limit that ended a run with the reason `budget`; None in others, or if it was more than one limit."""
    answer: str | None = None
    citations: list[Any] = []
    """Citations as the model passed them to `finish`: "path", "path:line" or {path, line?, quote?}."""
    steps: int = 0
    passes: int = 0
    restarts: int = 0
    """How often the run started over after an answer in a file format; it had one try more."""
    tokens: Tokens = Tokens()
    usd: float | None = 0.0
    """Cost without rounding. None means that a call had no price."""
    held: Held = Held()
    """What may have been billed in addition, because calls were cut or reported no usage."""
    seconds: float = 0.0
    check_seconds: float = 0.0
    """How long checks took, in seconds."""
    files_changed: list[str] = []
    """Sorted paths, relative to the workspace, of the files that the model's tools changed."""
    staged: list[str] = []
    """Sorted paths of the files that are staged: in the workspace they are as before (`rundry apply`)."""
    seen: int = 0
    findings: FindingCounts = FindingCounts()
    coverage: Coverage | None = None
    """For a search by lenses: how much the lenses read."""
    estimate: Estimate | None = None
    """For a search by lenses: how much no lens found. None means that fewer than two lenses searched independently."""
    failed_items: list[str] = []
    evidence: Evidence | None = None
    """For a run with a check; None for others."""
    ended_jobs: list[EndedJob] = []
    """Background commands that still ran at the end, and were ended with the run."""
    approved_by: list[str] = []
    """Clients (`mcp:NAME`, `python:NAME`) that approved changes or commands in place of a person."""
    journal: str = ""
    undone_since: int = 0
    """Number of changes that were undone after the end, so that the outcome does not hold. 0 in the recorded event."""
    changed_since: list[str] = []
    """Judged files that were changed after the end, so that the outcome does not hold. Empty in the recorded event."""
    children: list[ChildOutcome] = []
    """Child runs in the order of their start, for a run that has any."""
