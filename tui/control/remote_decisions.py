"""Send commands and decisions to runs whose view is a server: for an MCP client, or for a paired device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rundry.agent import Command, Decide, Journal, ResumeChanges, UserError

from .waiting import NoAnswer, awaiting, until_answered, until_recorded

if TYPE_CHECKING:
    from .own_runs import OwnRuns

ANSWER_SECONDS = 10.0
"""Seconds within which a runner must answer."""


async def send_command(journal: Journal, command: Command) -> None:
    """Send a command to the runner of this run. Raises UserError if the runner refuses it or does not answer."""
    after = journal.last_seq()
    number = journal.inbox.put(command)
    try:
        why = await awaiting(until_answered(journal, number, after, seconds=ANSWER_SECONDS))
    except NoAnswer as silent:
        if silent.is_gone:
            raise UserError("the process of the run is gone: resume the run") from None
        raise UserError(f"{silent}: read the run before you repeat it") from None
    if why is not None:
        raise UserError(f"refused: {why}")


async def resume_with_decision(own: OwnRuns, journal: Journal, command: Decide) -> None:
    """Resume a run that nobody drives with a decision, and return once it is recorded. Raises RundryError."""
    after = journal.last_seq()
    await own.resume(journal, ResumeChanges(decision=command, by=command.by))
    await awaiting(until_recorded(journal, command, after, seconds=ANSWER_SECONDS))
