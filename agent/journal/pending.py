"""Runs that wait for a person: what they want, since when, and how to take them up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from ..protocol import JournalError, Reason
from .journal import Journal
from .runs import RunLine, list_runs
from .waiting import Waits, what_waits


class Pending(msgspec.Struct, frozen=True, kw_only=True):
    """One run that needs someone."""

    run_id: str
    journal: str
    task: str
    workspace: str
    waits: str
    """`handoff`, `gate` or `question`."""
    state: str
    """`running`: someone can act at once; else it has to be resumed first."""
    reason: str
    suggested_action: str
    since: float
    """Unix seconds."""
    take_up: str
    """The command that does it."""


def pending(folder: Path, workspace: str | None = None) -> list[Pending]:
    """The newest run first; of that workspace alone, where one is given."""
    return list(_found(folder, workspace))


def _found(folder: Path, workspace: str | None) -> Iterator[Pending]:
    for line in list_runs(folder):
        is_open = line.state in ("running", "interrupted") or line.reason is Reason.HANDOFF
        if not is_open or workspace not in (None, line.workspace):
            continue
        try:
            journal = Journal.open(Path(line.path))
            try:
                waits = what_waits(journal)
            finally:
                journal.close()
        except JournalError:  # it went away, or was damaged, since it was listed
            continue
        if (found := _pending(line, waits)) is not None:
            yield found


def _pending(line: RunLine, waits: Waits) -> Pending | None:
    resume = f'rundry resume {line.run_id} --hint "..."'
    look = f"rundry watch {line.run_id}" if line.state == "running" else f"rundry resume {line.run_id}"
    if waits.handoff is not None or line.reason is Reason.HANDOFF:
        handoff = waits.handoff
        kind, reason = "handoff", handoff.reason if handoff is not None else line.detail
        suggested = handoff.suggested_action if handoff is not None else "look at it, then resume it with a hint"
        take_up = look if line.state == "running" else resume
    elif waits.questions:
        question = next(iter(waits.questions.values()))
        kind, reason, suggested = "question", f"it asks: {question.question}", "answer it"
        take_up = f'rundry ctl {line.run_id} answer "..."' if line.state == "running" else look
    elif waits.proposals:
        opened = next(iter(waits.proposals.values()))
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
    )
