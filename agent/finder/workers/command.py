"""A command of the user's that works an item: JSON on standard input, JSON on standard output."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...protocol import UserError
from ...workspace import Finished, Sandbox
from .reply import LONGEST, last_words, one_line, read_reply
from .worker import Worked, WorkItem, as_json

_SHORT = 1_000_000
"""Bytes of an answer that is read at once; a longer one must not keep others waiting."""


class CommandWorker:
    """Runs the command anew for each item, in the workspace, in the commands' sandbox and with their environment."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        workspace: Path,
        env: Mapping[str, str],
        sandbox: Sandbox,
        seconds: float = 30.0,
        network: bool = False,
    ) -> None:
        """Raises UserError for an empty command."""
        if not command or not command[0].strip():
            raise UserError("worker: the command is empty")
        self._command, self._seconds, self._network = list(command), seconds, network
        self._workspace, self._env, self._sandbox = workspace, env, sandbox

    async def work(self, item: WorkItem) -> Worked:
        """What the command answered. Cancelling ends all that it started."""
        done = await self._sandbox.run(
            self._command,
            self._workspace,
            cwd=self._workspace,
            env=self._env,
            timeout=self._seconds,
            stdin=as_json(item),
            network=self._network,
            apart=True,
            keep=LONGEST,
        )
        return _judged(done) if len(done.full) < _SHORT else await asyncio.to_thread(_judged, done)

    async def close(self) -> None:
        """Nothing lives longer than its item."""


def _judged(done: Finished) -> Worked:
    said = last_words(done.errors)
    if done.exit_code is None:
        return Worked(error=_with(said, done.error or "it did not end"))
    if done.full_dropped:
        return Worked(error=_with(said, f"it answered more than 64 MB (by {done.full_dropped:,} bytes)"))
    if done.exit_code != 0:
        told = read_reply(done.full).error if done.full.strip().startswith(b"{") else last_words(done.full)
        return Worked(error=_with(said or told, f"exit code {done.exit_code}"))
    worked = read_reply(done.full)
    if worked.error and not (worked.items or worked.findings):
        return Worked(error=_with(said, worked.error), reason=worked.reason)
    return worked


def _with(said: str, error: str) -> str:
    return one_line(f"{error}; it said: {said}") if said else one_line(error)
