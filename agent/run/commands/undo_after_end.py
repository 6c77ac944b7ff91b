"""Carry out undo, rewind and verdicts on findings for an ended run, which stays ended. No model is used."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ...journal.claim import claim
from ...journal.journal import Journal
from ...models.no_model import NO_MODEL
from ...protocol import (
    Command,
    CommandRefused,
    CommandTaken,
    Judge,
    Merge,
    Rewind,
    RundryError,
    Undo,
    command_type,
)
from ...search.lenses.judge_findings import judge_finding
from ..start.damaged_journal import require_undamaged
from .context_after_end import context_after_end
from .handle_commands import STALE
from .rewind import rewind_after_end
from .undo_command import finish_undo_after_end, undo_after_end

if TYPE_CHECKING:
    from .undo_context import UndoContext


async def handle_after_end(path: Path) -> None:
    """Carry out each `Undo`, `Rewind`, `Judge` and `Merge` in the inbox of the journal, and refuse other commands.

    Raises RunHeld, JournalError.
    """
    with claim(path):
        journal = Journal.open(path)
        try:
            require_undamaged(journal)
            context = context_after_end(journal)
            await finish_undo_after_end(context)
            for command_id, command in journal.inbox.take():
                why = await _handle(context, command)
                context.events.record(_answer(command_id, command, why))
        finally:
            journal.close()


async def _handle(context: UndoContext, command: Command | None) -> str | None:
    match command:
        case Undo():
            return await undo_after_end(context, command)
        case Rewind():
            return await rewind_after_end(context, command)
        case Judge() | Merge():
            finder = context.facts.finder
            if finder is None:
                return f"{context.facts.spec.loop.a_run} has no findings or items"
            return judge_finding(finder, command, context.events, has_model=context.facts.spec.model.name != NO_MODEL)
        case _:
            return STALE


def _answer(command_id: int, command: Command | None, why: str | None) -> CommandTaken | CommandRefused:
    kind = command_type(command) if command is not None else "unknown"
    if why is None:
        return CommandTaken(command_id=command_id, command=kind)
    return CommandRefused(command_id=command_id, command=kind, why=why)


def main(path: str) -> int:
    """Carry out the commands in the inbox of this journal, and return the exit code."""
    try:
        asyncio.run(handle_after_end(Path(path)))
    except RundryError as error:
        print(f"rundry: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
