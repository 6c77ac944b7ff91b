"""A run in this process: what `--headless` and tests use. The journal is the same, so anyone can watch it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ...journal import Journal
from ...journal.database import require_place
from ...protocol import Outcome, RunSpec, Stamped
from ..client.start_request import Order, ResumeChanges
from ..setup.assemble import Outside
from ..setup.preflight import check_before
from .runner import run_order


async def begin_here(
    spec: RunSpec,
    path: Path,
    *,
    on_event: Callable[[Stamped], None],
    tell: Callable[[str], None],
    notes: Sequence[str] = (),
    blobs: Sequence[bytes] = (),
    outside: Outside | None = None,
) -> Outcome:
    """Make the journal of a new run and drive it. Raises Refusal or UserError before there is a journal.

    `tell` gets a line where the person has to wait before that. `blobs`: the bytes of the task's images.
    """
    require_place(path)
    checked = await check_before(spec, outside or Outside(), tell)
    journal = Journal.create(path, spec)
    try:
        for data in blobs:
            journal.keep(data)
    finally:
        journal.close()
    return await run_here(path, on_event=on_event, notes=notes, outside=checked)


async def run_here(
    path: Path,
    *,
    on_event: Callable[[Stamped], None],
    changes: ResumeChanges | None = None,
    notes: Sequence[str] = (),
    outside: Outside | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> Outcome:
    """Drives the journal's run to its outcome; a run that had begun is taken up.

    Raises RunHeld, JournalError; Refusal or UserError where a run that had begun cannot go on: it stays as it was.

    `on_event` gets each event after it was recorded, in order. `tell` gets a line where the person has to wait.
    """
    journal = Journal.open(path)
    try:
        stale = [command_id for command_id, _ in journal.untaken()]
    finally:
        journal.close()
    order = Order(journal=str(path), changes=changes or ResumeChanges(), stale=stale, linger=False, notes=list(notes))
    return await run_order(order, on_event, outside, tell)
