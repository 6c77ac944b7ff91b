"""Work an item with a command of the user: JSON on standard input, JSON on standard output."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...protocol import UserError
from ...sandbox.command_access import NO_ACCESS
from .refusal import with_refusal
from .reply import LONGEST, read_reply, with_cause
from .worker import ItemResult, WorkItem, as_json

if TYPE_CHECKING:
    from ...host.processes.processes import Finished
    from ...sandbox.sandbox import Sandbox

_SHORT = 1_000_000
"""Bytes of an answer that is parsed in the event loop; parsing a longer one would block it."""


class CommandWorker:
    """Run the command for each item, in the workspace, with the sandbox and environment of the commands."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        workspace: Path,
        env: Mapping[str, str],
        sandbox: Sandbox,
        seconds: float = 30.0,
    ) -> None:
        """Set the command. Raises UserError if it is empty."""
        if not command or not command[0].strip():
            raise UserError("worker: the command is empty")
        self._command, self._seconds = list(command), seconds
        self._workspace, self._env, self._sandbox = workspace, env, sandbox

    async def work(self, item: WorkItem) -> ItemResult:
        """Return what the command answered. Cancelling ends all that it started."""
        done = await self._sandbox.run(
            self._command,
            self._workspace,
            NO_ACCESS,
            cwd=self._workspace,
            env=self._env,
            timeout=self._seconds,
            stdin=as_json(item),
            separate_errors=True,
            keep=LONGEST,
        )
        worked = _judged(done) if len(done.full) < _SHORT else await asyncio.to_thread(_judged, done)
        return with_refusal(worked, item, done.errors, self._sandbox, self._workspace)

    async def close(self) -> None:
        """Do nothing: no process lives longer than its item."""


def _judged(done: Finished) -> ItemResult:
    if done.exit_code is None:
        return ItemResult(error=with_cause(done.error or "it did not exit", done.errors))
    if done.full_dropped:
        return ItemResult(
            error=with_cause(f"it answered more than 64 MB (by {done.full_dropped:,} bytes)", done.errors)
        )
    if done.exit_code != 0:
        said = done.errors
        if not said.strip():
            said = read_reply(done.full).error.encode() if done.full.strip().startswith(b"{") else done.full
        return ItemResult(error=with_cause(f"exit code {done.exit_code}", said))
    worked = read_reply(done.full)
    if worked.error and not (worked.items or worked.findings):
        return ItemResult(error=with_cause(worked.error, done.errors), reason=worked.reason)
    return worked
