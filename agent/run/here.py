"""A run in this process: what `--headless` and tests use. The journal is the same, so anyone can watch it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ..journal import Journal
from ..protocol import Outcome, Stamped
from .orders import Order, ResumeChanges
from .outfit import Outside
from .runner import run_order


async def run_here(
    path: Path,
    *,
    on_event: Callable[[Stamped], None],
    changes: ResumeChanges | None = None,
    notes: Sequence[str] = (),
    outside: Outside | None = None,
) -> Outcome:
    """Drives the journal's run to its outcome; a run that had begun is taken up. Raises RunHeld, JournalError.

    `on_event` gets each event after it was recorded, in order.
    """
    journal = Journal.open(path)
    try:
        stale = [command_id for command_id, _ in journal.untaken()]
    finally:
        journal.close()
    order = Order(journal=str(path), changes=changes or ResumeChanges(), stale=stale, linger=False, notes=list(notes))
    return await run_order(order, on_event, outside)
