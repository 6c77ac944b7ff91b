"""Find runs that wait for a person: why, since when, and how to resume them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from ..journal.journal import Journal
from ..protocol import JournalError, ProposalOpened, Reason
from .handoffs import SHORT
from .runs import RunLine, list_runs
from .waiting import Waits, what_waits


class PendingProposal(msgspec.Struct, frozen=True, kw_only=True):
    """One open proposal, for the list of hand-offs."""

    proposal_id: str
    digest: str
    """Digest to use in a decision: of the exact content or command line."""
    tool: str
    path: str | None = None
    command: str | None = None
    added: int = 0
    removed: int = 0
    hunks: int = 0
    conflict: bool = False
    """The file changed on disk, so the proposal no longer fits."""
    opened: float = 0.0
    """Unix seconds."""


class SuspectResult(msgspec.Struct, frozen=True, kw_only=True):
    """A check with exit code 0 that does not count as a pass, for the list of hand-offs."""

    digest: str
    """Digest to use in a decision: of the suspect results of all checks of the run."""
    command: str
    suspect: str
    """Why the result does not count as a pass."""
    missing: list[str] = []
    """Tests that ran before but did not run now, at most 50."""
    missing_count: int = 0


class Pending(msgspec.Struct, frozen=True, kw_only=True):
    """One run that waits for a person."""

    run_id: str
    journal: str
    task: str
    workspace: str
    waits: str
    """`handoff`, `gate` or `question`."""
    state: str
    """`running`: a person can act immediately; otherwise the run must be resumed first."""
    reason: str
    suggested_action: str
    since: float
    """Unix seconds."""
    take_up: str
    """The command to resume the run or to decide."""
    proposals: list[PendingProposal] = []
    """Open proposals, oldest first."""
    suspect: SuspectResult | None = None
    """A suspect result that a person can accept or reject."""


def pending(folder: Path, workspace: str | None = None) -> list[Pending]:
    """Return the waiting runs, newest first; with `workspace`, only those of that workspace."""
    return list(_found(folder, workspace))


def _found(folder: Path, workspace: str | None) -> Iterator[Pending]:
    for line in list_runs(folder):
        is_over = line.is_unreadable or (line.state == "ended" and line.complete)
        if is_over or workspace not in (None, line.workspace):
            continue
        try:
            journal = Journal.open(Path(line.path))
            try:
                waits = what_waits(journal)
            finally:
                journal.close()
        except JournalError:  # removed or damaged since it was listed
            continue
        if (found := _pending(line, waits)) is not None:
            yield found


def _pending(line: RunLine, waits: Waits) -> Pending | None:
    resume = f'rundry resume {line.run_id} --hint "..."'
    look = f"rundry watch {line.run_id}" if line.state == "running" else f"rundry resume {line.run_id}"
    is_running = line.state == "running"
    proposals = list((waits.proposals if is_running else waits.lasting()).values())
    if proposals and not is_running:
        look = f"rundry approve {line.run_id} --digest {proposals[0].digest[:SHORT]}"
        resume = look
    suspect = None if is_running or proposals else suspect_result(waits)
    if suspect is not None:
        resume = f"rundry approve {line.run_id} --digest {suspect.digest[:SHORT]}"
    is_handed_over = line.reason is Reason.HANDOFF
    if waits.handoff is not None and line.reason in (None, Reason.HANDOFF, Reason.REFUSED):
        is_handed_over = True
    if is_handed_over:
        handoff = waits.handoff
        kind, reason = "handoff", handoff.reason if handoff is not None else line.detail
        suggested = handoff.suggested_action if handoff is not None else "look at it, then resume it with a hint"
        take_up = look if is_running else resume
    elif waits.questions:
        question = next(iter(waits.questions.values()))
        kind, reason, suggested = "question", f"it asks: {question.question}", "answer it"
        take_up = f'rundry ctl {line.run_id} answer "..."' if is_running else look
    elif proposals or waits.proposals:
        opened = proposals[0] if proposals else next(iter(waits.proposals.values()))
        what = opened.path or opened.command or opened.tool
        kind, reason, take_up = "gate", f"{opened.tool} {what} waits at the gate", look
        suggested = "look at it, then approve or reject it"
    else:
        return None
    return Pending(
        run_id=line.run_id,
        journal=line.path,
        task=line.task,
        workspace=line.workspace,
        waits=kind,
        state=line.state,
        reason=reason,
        suggested_action=suggested,
        since=waits.asked_at or line.started,
        take_up=take_up,
        proposals=[_listed(opened, waits) for opened in proposals],
        suspect=suspect,
    )


def suspect_result(waits: Waits) -> SuspectResult | None:
    """Return the suspect result at the run's hand-off."""
    check = waits.handoff.record.failing_check if waits.handoff is not None else None
    if check is None or not check.digest:
        return None
    return SuspectResult(
        digest=check.digest,
        command=check.command,
        suspect=check.suspect,
        missing=check.missing,
        missing_count=check.missing_count,
    )


def _listed(opened: ProposalOpened, waits: Waits) -> PendingProposal:
    return PendingProposal(
        proposal_id=opened.proposal_id,
        digest=opened.digest,
        tool=opened.tool,
        path=opened.path,
        command=opened.command,
        added=opened.added,
        removed=opened.removed,
        hunks=opened.hunks,
        conflict=opened.proposal_id in waits.conflicts,
        opened=waits.opened_at.get(opened.proposal_id, 0.0),
    )
