"""Put a command of a client into the inbox of a live run, and wait for the answer of its runner."""

from __future__ import annotations

import asyncio
import time

from rundry.agent import Command, CommandRefused, CommandTaken, Journal, UserError, holder

ANSWER_SECONDS = 10.0
"""Seconds within which a runner must answer."""
_LOOK_SECONDS = 0.05


async def send(journal: Journal, command: Command) -> None:
    """Send a command to the runner of this run. Raises UserError if the runner refuses it or does not answer."""
    after, began = journal.last_seq(), time.monotonic()
    number = journal.inbox.put(command)
    while time.monotonic() - began < ANSWER_SECONDS:
        await asyncio.sleep(_LOOK_SECONDS)
        for stamped in journal.read(after):
            after = stamped.seq
            match stamped.event:
                case CommandTaken(command_id=command_id) if command_id == number:
                    return
                case CommandRefused(command_id=command_id, why=why) if command_id == number:
                    raise UserError(f"refused: {why}")
                case _:
                    pass
        if holder(journal.path) is None:
            raise UserError("the process of the run is gone: use resume_run")
    raise UserError(f"no answer within {ANSWER_SECONDS:.0f} s: read the run before you repeat it")
