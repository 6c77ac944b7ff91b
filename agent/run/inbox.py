"""Takes the commands of all views out of the journal; each is answered, taken or refused."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ..protocol import Command, CommandRefused, CommandTaken, Shell, SwitchModel, command_type
from .conduct import Conduct
from .frame import OpenModel
from .obey import obey

INBOX_SECONDS = 0.04
"""How often the inbox is looked at: what a person does takes effect within this."""
STALE = "it was given to a runner that died before it took it; give it again if you still want it"


async def obey_inbox(run: Conduct, stale: Sequence[int], open_model: OpenModel) -> None:
    """Never returns. `stale`: commands that are refused, because an earlier runner left them."""
    left = set(stale)
    async with asyncio.TaskGroup() as slow:
        while True:
            if run.kit.journal.changed():
                for command_id, command in run.kit.journal.take():
                    if command is None:
                        _answer(run, command_id, None, "this version does not know that command")
                    elif command_id in left:
                        _answer(run, command_id, command, STALE)
                    elif isinstance(command, SwitchModel | Shell):  # they take long, which must not keep a stop waiting
                        slow.create_task(_obey(run, command_id, command, open_model))
                    else:
                        await _obey(run, command_id, command, open_model)
                run.kit.news.set()
            await asyncio.sleep(INBOX_SECONDS)


async def _obey(run: Conduct, command_id: int, command: Command, open_model: OpenModel) -> None:
    _answer(run, command_id, command, await obey(run, command_id, command, open_model))
    run.kit.news.set()


def _answer(run: Conduct, command_id: int, command: Command | None, why: str | None) -> None:
    kind = command_type(command) if command is not None else "unknown"
    if why is None:
        run.kit.record(CommandTaken(command_id=command_id, command=kind))
    else:
        run.kit.record(CommandRefused(command_id=command_id, command=kind, why=why))
