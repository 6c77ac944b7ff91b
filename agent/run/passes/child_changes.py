"""Find out what the child run of a pass changed in the copy in which it worked."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from ...journal.journal import Journal
from ...protocol import ChildFinished, FileChanged, PassStarted, Reason, child_name
from .work import Work

if TYPE_CHECKING:
    from ...facts.common.children import Child
    from ...step.resources.context import RunContext


async def work_of_child(ctx: RunContext, started: PassStarted) -> Work:
    """Return what the child run of a pass changed. `ctx`: of the pass.

    A child that has not ended does not continue, because its pass ends. Repeating the call changes nothing.
    """
    child = ctx.facts.common.children.by_number.get(started.number)
    if child is None:
        return Work(frozenset(), {})
    edited = await asyncio.to_thread(_changes, Path(child.journal))
    if child.is_open:
        ctx.events.record(_given_up(child), work=child_name(child.number))
    newest = {path: after for path, (after, is_edit) in edited.items() if is_edit}
    return Work(frozenset(edited), newest)


def _changes(journal: Path) -> dict[str, tuple[str | None, bool]]:
    """Return the newest content of each file that a run changed, and whether an edit that was let pass wrote it."""
    if not journal.exists():
        return {}
    found = Journal.open_for_reading(journal)
    try:
        events = [stamped.event for stamped in found.read_types((FileChanged,))]
    finally:
        found.close()
    return {e.path: (e.after, e.by in ("model", "person", "undo")) for e in events if isinstance(e, FileChanged)}


def _given_up(child: Child) -> ChildFinished:
    return ChildFinished(
        number=child.number,
        run_id=child.run_id,
        reason=Reason.USER,
        detail="its pass ended",
        complete=False,
        exit_code=130,
    )
