"""The events of a run that was refused before it did anything, and the removal of its journal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from ...journal.journal import Journal
from ...protocol import Finish, Outcome, Reason, RunEnded, RunSpec, RunStarted, Stamped, UserError
from ...state.facts.run_facts import RunFacts
from ...state.reports.run_files import delete_run
from ..end.outcome_of_run import ended_event, outcome_of


def is_unused(path: Path) -> bool:
    """Return whether the run of this journal has not begun yet."""
    journal = Journal.open(path)
    try:
        return journal.last_seq() == 0
    finally:
        journal.close()


def remove_if_refused(path: Path, outcome: Outcome, tell: Callable[[str], None]) -> Outcome:
    """Delete the journal of a new run that was refused before its first step. Returns the outcome, without a journal.

    `tell` gets the reason if that is not possible.
    """
    if outcome.reason is not Reason.REFUSED or outcome.steps:
        return outcome
    try:
        delete_run(path)
    except UserError as error:
        tell(str(error))
        return outcome
    return msgspec.structs.replace(outcome, journal="")


def without_refused_journal(on_event: Callable[[Stamped], None]) -> Callable[[Stamped], None]:
    """Return a listener for which the end of a refused run names no journal, because that is removed."""

    def heard(stamped: Stamped) -> None:
        event = stamped.event
        if isinstance(event, RunEnded) and event.reason is Reason.REFUSED and not event.steps:
            stamped = msgspec.structs.replace(stamped, event=msgspec.structs.replace(event, journal=""))
        on_event(stamped)

    return heard


def bare_start(spec: RunSpec, journal: str, notes: list[str]) -> RunStarted:
    """Return the first event of a run that ends before its model is open."""
    return RunStarted(
        run_id=spec.run_id,
        loop=spec.loop,
        task=spec.task,
        workspace=spec.workspace,
        model=spec.model.name,
        budget=spec.budget,
        journal=journal,
        gate=spec.gate.mode,
        notes=notes,
    )


def refused_events(spec: RunSpec, why: str, now: float) -> list[Stamped]:
    """Return the events that `--json` prints for a run that was refused before its journal was created.

    `now`: Unix seconds.
    """
    end = Finish(reason=Reason.REFUSED, detail=why)
    outcome = outcome_of(RunFacts(spec), end, answer=None, seconds=0.0, journal=Path())
    ended = msgspec.structs.replace(ended_event(outcome), journal="")
    return [Stamped(1, now, None, None, bare_start(spec, "", [])), Stamped(2, now, None, None, ended)]
