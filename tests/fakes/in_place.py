"""Commands that write to a workspace itself, compared as a run without layers compares them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from rundry.agent.gate.guarded_paths import GuardedPaths
from rundry.agent.host.processes.processes import Finished
from rundry.agent.host.workspace_paths import Workspace
from rundry.agent.journal.journal import Journal
from rundry.agent.sandbox.command_access import NO_ACCESS, Access
from rundry.agent.sandbox.command_environment import command_env
from rundry.agent.sandbox.sandbox import Sandbox
from rundry.agent.step.tool_calls.direct_changes import Author, changed_since, reach_in
from rundry.agent.step.tool_calls.direct_look import look

from .in_process.journals import make_journal


class Ran(NamedTuple):
    """A command, and what somebody has to decide about."""

    done: Finished
    named: dict[str, str]
    """Path to the reason."""
    names: list[str]
    """New names of hidden files."""


class InPlace:
    """Runs commands of one sandbox in a workspace."""

    def __init__(self, sandbox: Sandbox, ws: Path, journal: Journal) -> None:
        self.sandbox, self.workspace, self._journal = sandbox, Workspace(ws), journal
        self.workspace.further_hidden = sandbox.further_hidden

    async def run(
        self, line: str, access: Access = NO_ACCESS, *, env: dict[str, str] | None = None, timeout: float = 30
    ) -> Ran:
        root, sandbox = self.workspace.root, self.sandbox
        before, reach = await look(self.workspace, sandbox), reach_in(sandbox, root, access.writable)
        env = command_env(os.environ) if env is None else env
        done = await sandbox.run(line, root, access, cwd=root, env=env, timeout=timeout)
        after = await look(self.workspace, sandbox, settled=True)
        author = Author({}, reach, frozenset(), frozenset(), GuardedPaths())
        found = changed_since(self.workspace, self._journal, before, after, author, None)
        sandbox.further_hidden.update(root / name for name in found.names)
        return Ran(done, {one.path: one.why for one in found.protected}, found.names)


@contextmanager
def in_place(sandbox: Sandbox, ws: Path) -> Iterator[InPlace]:
    """Commands in this workspace."""
    with TemporaryDirectory() as folder:
        journal = make_journal(Path(folder) / "run.db")
        try:
            yield InPlace(sandbox, ws, journal)
        finally:
            journal.close()
