"""Read the commands of all views from the journal, and record whether each was taken or refused."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...journal.write_watch import WriteWatch
from ...protocol import (
    Act,
    Command,
    CommandRefused,
    CommandTaken,
    Compact,
    GiveWheel,
    Rewind,
    Shell,
    StopCommand,
    SwitchModel,
    TakeWheel,
    Undo,
    command_type,
)
from ..commands.handle_command import handle_command

if TYPE_CHECKING:
    from ...step.resources.recorder import Recorder
    from ..commands.reconfigure import OpenModel
    from ..live.live_run import LiveRun

SLOW = (SwitchModel, Shell, Undo, Rewind, Compact, TakeWheel, GiveWheel, Act, StopCommand)
"""Commands that take long, so that other commands are handled meanwhile."""
INBOX_SECONDS = 0.04
"""Seconds between two reads of the inbox while the journal is written. Otherwise, a command is read immediately."""
STALE = "the runner died before it took this command; repeat it if you still want it"


class Inbox:
    """The inbox of a run, which is read continuously and between two steps, so that commands apply to the next step."""

    def __init__(self, run: LiveRun, stale: Sequence[int], open_model: OpenModel) -> None:
        """`stale`: ids of commands for an earlier runner, which are refused."""
        self._run, self._stale, self._open_model = run, set(stale), open_model
        self._slow: set[asyncio.Task[None]] = set()
        self._read_lock = asyncio.Lock()
        self._writes = WriteWatch(INBOX_SECONDS, INBOX_SECONDS)

    async def keep_reading(self) -> None:
        """Read the inbox until cancelled. Raises what a command raised."""
        self._writes.follow(self._run.ctx.journal.path)
        try:
            while True:
                if self._run.ctx.journal.changed():
                    await self.read()
                for task in [task for task in self._slow if task.done()]:
                    self._slow.discard(task)
                    task.result()
                await self._writes.wait()
        finally:
            self._writes.close()
            for task in self._slow:
                task.cancel()
            await asyncio.gather(*self._slow, return_exceptions=True)

    async def read(self) -> None:
        """Handle the commands in the inbox. Slow commands run as tasks, so that a stop does not wait for them."""
        async with self._read_lock:
            for command_id, command in self._run.ctx.journal.inbox.take():
                if command is None:
                    _answer(self._run.ctx.events, command_id, None, "this version does not know that command")
                elif command_id in self._stale:
                    _answer(self._run.ctx.events, command_id, command, STALE)
                elif isinstance(command, SLOW):
                    slow = asyncio.ensure_future(self._handle(command_id, command))
                    slow.add_done_callback(lambda _: self._writes.wake())
                    self._slow.add(slow)
                    await asyncio.sleep(0)  # lets the task begin, so that no step begins first
                else:
                    await self._handle(command_id, command)
            self._run.ctx.activity.wake()

    async def _handle(self, command_id: int, command: Command) -> None:
        _answer(
            self._run.ctx.events,
            command_id,
            command,
            await handle_command(self._run, command_id, command, self._open_model),
        )
        self._run.ctx.activity.wake()


def _answer(events: Recorder, command_id: int, command: Command | None, why: str | None) -> None:
    kind = command_type(command) if command is not None else "unknown"
    if why is None:
        events.record(CommandTaken(command_id=command_id, command=kind))
    else:
        events.record(CommandRefused(command_id=command_id, command=kind, why=why))
