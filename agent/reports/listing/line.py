"""One journal as a line of a list."""

from __future__ import annotations

import calendar
import contextlib
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ...journal.claim import holder
from ...journal.journal import Journal
from ...protocol import (
    Charged,
    Confirmed,
    Event,
    JournalError,
    NewerJournal,
    Reason,
    RunEnded,
    RunResumed,
    RunStarted,
    RunVerified,
    StepStarted,
    evidence_kind,
    evidence_words,
)

_AFTER_END = 20
"""Events from the end of a journal, in which its end and a verification are looked for."""
_BEFORE_START = 5
"""Events from the beginning of a journal, of which one says that the run started."""


class RunLine(msgspec.Struct, frozen=True, kw_only=True):
    """One run, as lists show it."""

    run_id: str
    path: str
    state: str
    """`running`, `ended`, `interrupted` (its runner is gone, it can be resumed), `damaged`, or `newer`: a newer
    version of this program wrote it."""
    loop: str = ""
    task: str = ""
    workspace: str = ""
    model: str = ""
    started: float = 0.0
    """Unix seconds; of one that cannot be read as its id has it, else when its file was last written."""
    reason: Reason | None = None
    """Of its outcome; None: it has not ended."""
    detail: str = ""
    complete: bool = False
    evidence: str = ""
    """Why its outcome can be believed, in one line; empty: nothing decided about it, or it has not ended."""
    evidence_kind: str = ""
    """How well its end is evidenced, one of `EVIDENCE_KINDS`; empty: it is not complete."""
    steps: int = 0
    usd: float | None = 0.0
    """None: a call had no price."""
    verified: Confirmed | None = None
    """What the newest `rundry verify` since its end said; None: there was none."""
    forked_from: str | None = None
    """The run that it went on from, where it is a fork."""
    error: str | None = None
    """Why it cannot be read."""

    @property
    def is_unreadable(self) -> bool:
        """`error` says why; nothing else is known of it."""
        return self.state in ("damaged", "newer")

    @property
    def is_finished(self) -> bool:
        """Nothing is left to resume: the work is complete, or it was refused before it began."""
        return self.is_unreadable or (self.state == "ended" and (self.complete or self.reason is Reason.REFUSED))


def line_of(path: Path) -> RunLine:
    """What the journal says; one that cannot be read says why."""
    try:
        journal = Journal.look(path)
        try:
            return _read(path, journal)
        finally:
            journal.close()
    except JournalError as error:
        state = "newer" if isinstance(error, NewerJournal) else "damaged"
        return RunLine(run_id=path.stem, path=str(path), state=state, error=str(error), started=_began(path))


def _began(path: Path) -> float:
    """As far as it can be told from outside."""
    try:
        return float(calendar.timegm(time.strptime(path.stem[:15], "%Y%m%d-%H%M%S")))
    except ValueError:
        with contextlib.suppress(OSError):
            return path.stat().st_mtime
    return 0.0


def _read(path: Path, journal: Journal) -> RunLine:
    spec = journal.spec
    newest = [stamped.event for stamped in journal.read(max(0, journal.last_seq() - _AFTER_END))]
    turns = [event for event in newest if isinstance(event, RunEnded | RunResumed)]
    ended = turns[-1] if turns and isinstance(turns[-1], RunEnded) else None
    # Of an end, the first and the newest events tell all.
    events = journal.landmarks() if ended is None else [stamped.event for stamped in journal.read(0, _BEFORE_START)]
    model, steps, usd = spec.model.name, 0, 0.0
    for event in events:
        match event:
            case RunStarted():
                model = event.model
            case StepStarted():
                steps += 1
            case Charged():
                usd = None if usd is None or event.usd is None else usd + event.usd
            case _:
                pass
    if ended is None and (ends := [event for event in events if isinstance(event, RunEnded | RunResumed)]):
        ended = ends[-1] if isinstance(ends[-1], RunEnded) else None
    state = "ended" if ended is not None else "running" if holder(path) is not None else "interrupted"
    verified = _verified(newest) if ended is not None else None
    return RunLine(
        run_id=spec.run_id,
        path=str(path),
        state=state,
        loop=spec.loop,
        task=spec.task,
        workspace=spec.home,
        model=model,
        started=float(journal.meta("created") or 0),
        forked_from=journal.meta("forked_from"),
        verified=verified,
        reason=ended.reason if ended else None,
        detail=ended.detail if ended else "",
        complete=ended.complete if ended else False,
        evidence=evidence_words(ended.evidence) if ended and ended.evidence is not None else "",
        evidence_kind=evidence_kind(ended.evidence, verified) if ended and ended.complete else "",
        steps=ended.steps if ended else steps,
        usd=ended.usd if ended else usd,
    )


def _verified(newest: Sequence[Event]) -> Confirmed | None:
    """Looked for among the newest events: few come after an end."""
    found = [event for event in newest if isinstance(event, RunEnded | RunVerified)]
    return found[-1].result if found and isinstance(found[-1], RunVerified) else None
