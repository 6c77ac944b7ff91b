"""Run a command that prints a score in a view without the changes that nobody decided on (decision 0040)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import msgspec

from ..stops.check_environment import prepared_environment
from ..workspace.sandbox.access import programs_of_user
from .judge import decided_of
from .setup import fresh_of, prepare_again
from .view import Taken, ViewFailed, open_view

if TYPE_CHECKING:
    from ..workspace.processes.processes import Finished
    from .case import Case
    from .view import JudgeView


@asynccontextmanager
async def view_of(case: Case) -> AsyncGenerator[JudgeView]:
    """Make a view of a result for the block. Raises ViewFailed."""
    now = await asyncio.to_thread(decided_of, case)
    if now.decided.unknown:
        raise ViewFailed(f"what some files were before is not known: {now.decided.unknown[0]}")
    rows = () if case.unit is None else case.unit.changes.rows
    taken = await asyncio.to_thread(Taken.without_undecided, now.decided, now.contents, rows)
    if why := await prepare_again(case, now.decided, taken):
        raise ViewFailed(f"the setup fails with the changes of this run: {why}")
    taken.fresh = fresh_of(case)
    async with open_view(case.layers, case.sandbox, taken) as view:
        yield view


async def run_in_view(case: Case, view: JudgeView, command: str, seconds: float) -> Finished:
    """Run the command once."""
    root = case.workspace.root
    with prepared_environment(view.sandbox, case.env) as environment:
        access = msgspec.structs.replace(environment, layer=view.access).access
        return await view.sandbox.run(
            command,
            root,
            msgspec.structs.replace(access, readable=programs_of_user(command, case.workspace.seen)),
            cwd=root,
            env=environment.env,
            timeout=seconds,
            separate_errors=True,
        )
