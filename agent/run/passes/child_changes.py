"""Note in the run what the child run of a pass changed, so that the change belongs to the pass."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from ...facts.logs.change_log import FileEffect
from ...journal.journal import Journal
from ...protocol import ChildFinished, FileChanged, GuardApproved, PassStarted, Reason, child_name
from ...step.tool_calls.file_events import file_changed
from .unproven import unproven

if TYPE_CHECKING:
    from ...facts.common.children import Child
    from ...step.resources.context import RunContext


async def note_child_changes(ctx: RunContext, started: PassStarted, world: str) -> None:
    """Record a change for each file that the child run of the pass changed. `world`: the present snapshot.

    A child that has not ended does not continue, because its pass ends. Repeating the call changes nothing.
    """
    child = ctx.facts.common.children.by_number.get(started.number)
    if child is None:
        return
    effects, approved = await asyncio.to_thread(_changed_files, Path(child.journal))
    changes = await ctx.snapshots.changes(started.world or "", world)
    doubtful = set(unproven(changes, effects))
    known = ctx.facts.changes.files
    with ctx.events.together():
        for change in changes:
            if change.path in effects:
                event = file_changed(ctx.journal, change, "command" if change.path in doubtful else "model")
                if change.path not in known or known[change.path][1] != event.after:
                    ctx.events.record(event)
        if child.is_open:
            ctx.events.record(_given_up(child), work=child_name(child.number))
    same = [path for path, digest in approved.items() if _digest(ctx.workspace.root / path) == digest]
    await ctx.guarded.approve_user_changes(same, ctx.events.bound(None, None))


def _changed_files(journal: Path) -> tuple[dict[str, list[FileEffect | None]], dict[str, str]]:
    """Return the edits of each file in a run, and the content (SHA-256) of guarded files that a person approved.

    None in the list of edits stands for a command.
    """
    if not journal.exists():
        return {}, {}
    found = Journal.open_for_reading(journal)
    try:
        events = [stamped.event for stamped in found.read_types((FileChanged, GuardApproved))]
    finally:
        found.close()
    effects: dict[str, list[FileEffect | None]] = {}
    for event in events:
        if isinstance(event, FileChanged):
            is_edit = event.by in ("model", "person", "undo", "restore")
            effects.setdefault(event.path, []).append(FileEffect(event.before, event.after) if is_edit else None)
    return effects, {event.path: event.digest for event in events if isinstance(event, GuardApproved) and event.digest}


def _digest(path: Path) -> str | None:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() and not path.is_symlink() else None


def _given_up(child: Child) -> ChildFinished:
    return ChildFinished(
        number=child.number,
        run_id=child.run_id,
        reason=Reason.USER,
        detail="its pass ended",
        complete=False,
        exit_code=130,
    )
