"""Drive a run in this process, for `--headless` and tests. It has a journal like any run, so views can attach to it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...journal.database import require_writable_folder
from ...journal.journal import Journal
from ...models.lanes.close_connections import close_connections
from ...protocol import JournalError
from ..client.start_request import Order, ResumeChanges
from ..start.inputs import ProcessContext
from ..start.preflight import check_can_begin
from .refused_run import remove_if_refused, without_refused_journal
from .runner import run_order

if TYPE_CHECKING:
    from ...protocol import Outcome, RunSpec, Stamped


async def begin_in_process(
    spec: RunSpec,
    path: Path,
    *,
    on_event: Callable[[Stamped], None],
    tell: Callable[[str], None],
    notes: Sequence[str] = (),
    blobs: Sequence[bytes] = (),
    process: ProcessContext | None = None,
) -> Outcome:
    """Create the journal of a new run, and drive it. Raises Refusal or UserError before the journal is created.

    The journal of a run that is refused before its first step, because its check cannot be started, is deleted again.
    `tell` is called with a line when the user has to wait before that. `blobs`: the bytes of the task's images.
    """
    require_writable_folder(path)
    checked = await check_can_begin(spec, process or ProcessContext(), tell, path.parent)
    try:
        _create(path, spec, blobs)
    except JournalError:
        await close_connections()
        raise
    outcome = await run_in_process(
        path, on_event=without_refused_journal(on_event), notes=notes, process=checked, tell=tell
    )
    return await asyncio.to_thread(remove_if_refused, path, outcome, tell)


def _create(path: Path, spec: RunSpec, blobs: Sequence[bytes]) -> None:
    journal = Journal.create(path, spec)
    try:
        for data in blobs:
            journal.blobs.keep(data)
    finally:
        journal.close()


async def run_in_process(
    path: Path,
    *,
    on_event: Callable[[Stamped], None],
    changes: ResumeChanges | None = None,
    notes: Sequence[str] = (),
    process: ProcessContext | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> Outcome:
    """Begin or resume the run of a journal, and drive it to its outcome.

    Raises RunHeld, JournalError; Refusal or UserError if a run that had begun cannot continue: it stays unchanged.

    `on_event` is called with each event, in order, after it was recorded. `tell` is called with a line when the user
    has to wait.
    """
    journal = Journal.open(path)
    try:
        stale = [command_id for command_id, _ in journal.inbox.untaken()]
    finally:
        journal.close()
    order = Order(journal=str(path), changes=changes or ResumeChanges(), stale=stale, linger=False, notes=list(notes))
    return await run_order(order, on_event, process, tell)
