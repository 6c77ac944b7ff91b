"""Summarize one journal as a line of a list."""

from __future__ import annotations

import calendar
import contextlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import replace

from ...budget.ledger import LEDGER_EVENTS, Ledger
from ...journal.claim import holder
from ...journal.journal import Journal
from ...protocol import (
    ChildSpent,
    Confirmed,
    Event,
    EvidenceKind,
    FileChanged,
    Grade,
    Held,
    JournalError,
    LoopKind,
    NewerJournal,
    Reason,
    Restarted,
    RunEnded,
    RunResumed,
    RunStarted,
    RunVerified,
    StageBegan,
    StageEnded,
    Stamped,
    Undone,
    Unknown,
    evidence_kind,
    evidence_words,
)
from ..common.void_end import after_undos
from .accepted_plan import accepted_plan

RunLineState = Literal[
    "running",
    "ended",
    "interrupted",  # the runner is gone, the run can be resumed
    "damaged",
    "newer",  # a newer version of this program wrote the journal
]

_AFTER_END = 20
"""Number of events at the end of a journal among which `run_ended` and `run_verified` are searched."""
_BEFORE_START = 5
"""Number of events at the beginning of a journal among which `run_started` is searched."""


class RunLine(msgspec.Struct, frozen=True, kw_only=True):
    """One run as displayed in lists."""

    run_id: str
    path: str
    state: RunLineState
    loop: str = ""
    task: str = ""
    workspace: str = ""
    model: str = ""
    started: float = 0.0
    """Unix seconds. For an unreadable journal: from its id, otherwise the time of its last change."""
    reason: Reason | None = None
    """Reason of the outcome. None means that the run has not ended."""
    detail: str = ""
    complete: bool = False
    evidence: str = ""
    """Evidence for the outcome in one line, or empty if there is none, or the run has not ended."""
    evidence_kind: EvidenceKind | Literal[""] = ""
    """Empty means that the outcome is not complete."""
    grade: Grade | Literal[""] = ""
    """Empty means that the outcome is not complete, or nothing was checked."""
    steps: int = 0
    restarts: int = 0
    """How often the run started over after an answer in a file format."""
    usd: float | None = 0.0
    """Cost in USD. None means that a call had no known price."""
    held: Held = Held()
    """What may have been billed in addition, because calls were cut or reported no usage."""
    staged: int = 0
    """Number of staged files. In the workspace they are unchanged."""
    undone_since: int = 0
    """Number of changes that were undone after the end. If there are any, the outcome is void and not complete."""
    changed_since: list[str] = []
    """Judged files that somebody changed after the end: as with `undone_since`. Only of the newest judged run."""
    decided_files: str | None = None
    """Blob of the files that were judged, in the journal. None means that there are none."""
    verified: Confirmed | None = None
    """Result of the newest `rundry verify` since the end, or None if there was none."""
    parent: str | None = None
    """Id of the parent, if this is a child run."""
    forked_from: str | None = None
    """Id of the run that this one was forked from, if it is a fork."""
    plan_waits: bool = False
    """A plan was accepted in it, and no run has begun to carry it out."""
    then: str | None = None
    """Id of the run that carries out the plan accepted in it, if there is one."""
    error: str | None = None
    """Why the journal cannot be read."""

    @property
    def is_unreadable(self) -> bool:
        """Whether the journal cannot be read; `error` says why."""
        return self.state in ("damaged", "newer")

    @property
    def is_void(self) -> bool:
        """Whether the outcome does not hold any more."""
        return self.undone_since > 0 or bool(self.changed_since)

    @property
    def is_ended_chat(self) -> bool:
        """Whether it is a chat that its person ended, which is not a failure."""
        return self.loop == LoopKind.CHAT and self.state == "ended" and self.reason is Reason.USER

    @property
    def why_void(self) -> str:
        """What the outcome was, and why it does not hold: work that somebody continued is not broken."""
        if not self.is_void or self.reason is None:
            return ""
        return f"was {self.reason.words}, {'undone' if self.undone_since else 'files changed'} since"

    @property
    def is_finished(self) -> bool:
        """Whether nothing is left to resume: the work is complete, or the run was refused before it began.

        An accepted plan is left to be carried out, and once its run has begun, that run is the one to resume.
        """
        if self.then is not None:
            return not self.plan_waits
        is_over = self.complete or self.is_void or self.reason is Reason.REFUSED
        return self.is_unreadable or (self.state == "ended" and is_over)


def line_of_run(path: Path) -> RunLine:
    """Return the line of a journal; if it cannot be read, the line says why."""
    try:
        journal = Journal.open_for_reading(path)
        try:
            return _read(path, journal)
        finally:
            journal.close()
    except JournalError as error:
        state = "newer" if isinstance(error, NewerJournal) else "damaged"
        return RunLine(run_id=path.stem, path=str(path), state=state, error=str(error), started=_began(path))


def _began(path: Path) -> float:
    """Return the start time from the run id, else the time of the last change, else 0. Unix seconds."""
    try:
        return float(calendar.timegm(time.strptime(path.stem[:15], "%Y%m%d-%H%M%S")))
    except ValueError:
        with contextlib.suppress(OSError):
            return path.stat().st_mtime
    return 0.0


def _read(path: Path, journal: Journal) -> RunLine:
    spec = journal.spec
    after = journal.read(max(0, journal.last_seq() - _AFTER_END))
    newest = [stamped.event for stamped in after]
    ended = _end_in(after)
    # an ended run needs only its first and its newest events
    events = journal.landmarks() if ended is None else journal.read(0, _BEFORE_START)
    if ended is None:
        ended = _end_in(events)
    models = [each.event.model for each in events if isinstance(each.event, RunStarted)]
    line = RunLine(
        run_id=spec.run_id,
        path=str(path),
        state="running" if holder(path) is not None else "interrupted",
        loop=spec.loop,
        task=spec.task,
        workspace=spec.home,
        model=models[-1] if models else spec.model.name,
        started=float(journal.meta("created") or 0),
        parent=spec.parent.run_id if spec.parent is not None else None,
        forked_from=journal.meta("forked_from"),
        staged=len(_staged(journal, ended)),
        then=None if (accepted := accepted_plan(journal)) is None else accepted.run_id,
    )
    if ended is None and line.state == "interrupted":  # also the calls that its runner was waiting for
        events = journal.read_types(LEDGER_EVENTS - {Unknown})
    elif ended is None and spec.has_children:
        events = [*events, *journal.read_types([ChildSpent])]
    if ended is None:
        restarts = journal.read_types([Restarted]) if spec.loop is LoopKind.GOAL else []
        return replace(_with_usage(line, events), restarts=len(restarts))
    seq, end = ended
    undos = [each.event for each in journal.read_types([Undone], after=seq)]
    end = after_undos(end, [undone for undone in undos if isinstance(undone, Undone)])
    return _with_end(line, end, _verified(newest))


def _end_in(events: Sequence[Stamped]) -> tuple[int, RunEnded] | None:
    """Return the newest end with its number, or None if the run was resumed after it."""
    turns = [(each.seq, each.event) for each in events if isinstance(each.event, RunEnded | RunResumed)]
    seq, last = turns[-1] if turns else (0, None)
    return (seq, last) if isinstance(last, RunEnded) else None


def staged_in(journal: Journal) -> list[str]:
    """Return the files that are staged now, sorted. Raises JournalError."""
    return sorted(_staged(journal, _end_in([*journal.read_types([RunEnded, RunResumed])])))


def _staged(journal: Journal, ended: tuple[int, RunEnded] | None) -> set[str]:
    """Return the files that are staged now."""
    if ended is not None and not ended[1].staged:
        return set()
    seq, names = (0, set[str]()) if ended is None else (ended[0], set(ended[1].staged))
    for stamped in journal.read_types([StageBegan, StageEnded, FileChanged], after=seq):
        match stamped.event:
            case FileChanged(path=path, staged=staged):
                (names.add if staged else names.discard)(path)
            case _:
                names.clear()
    return names


def _with_usage(line: RunLine, events: Sequence[Stamped]) -> RunLine:
    """Add the usage of a run that has not ended."""
    ledger = Ledger()
    for stamped in events:
        ledger.apply(stamped)
    spent = ledger.spent
    if line.state == "interrupted":  # nothing will charge the calls that its runner was waiting for
        spent += ledger.cut
    return replace(line, steps=spent.steps, usd=None if spent.unpriced else spent.usd, held=spent.held)


def _with_end(line: RunLine, ended: RunEnded, verified: Confirmed | None) -> RunLine:
    return replace(
        line,
        state="ended",
        reason=ended.reason,
        detail=ended.detail,
        complete=ended.complete,
        evidence=evidence_words(ended.evidence, ended.approved_by),
        evidence_kind=evidence_kind(ended.evidence, verified) if ended.complete else "",
        grade=ended.evidence.grade if ended.complete and ended.evidence is not None else "",
        steps=ended.steps,
        restarts=ended.restarts,
        usd=ended.usd,
        held=ended.held,
        undone_since=ended.undone_since,
        decided_files=None if ended.evidence is None else ended.evidence.decided_files,
        verified=verified,
    )


def _verified(newest: Sequence[Event]) -> Confirmed | None:
    """Return the newest verification; it is among the newest events because few events follow an end."""
    found = [event for event in newest if isinstance(event, RunEnded | RunVerified)]
    return found[-1].result if found and isinstance(found[-1], RunVerified) else None
