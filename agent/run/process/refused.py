"""A run that was refused before it did anything leaves no journal behind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from ...journal.journal import Journal
from ...protocol import Outcome, Reason, RunEnded, Stamped, UserError
from ...reports.runs import delete_run


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
    """Return a listener to which the end of a refused run names no journal, because none will be there."""

    def heard(stamped: Stamped) -> None:
        event = stamped.event
        if isinstance(event, RunEnded) and event.reason is Reason.REFUSED and not event.steps:
            stamped = msgspec.structs.replace(stamped, event=msgspec.structs.replace(event, journal=""))
        on_event(stamped)

    return heard
