"""What tools, commands and child runs changed in a unit of work, and what of it was approved while they worked."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...journal.journal import Journal
from ...protocol import ChildFinished, FileChanged, PassStarted, Reason, child_name
from ...step.tool_calls.effect_entries import row_of

if TYPE_CHECKING:
    from ...layers.layer_effects import Effect
    from ...state.common.child_facts import Child
    from ...state.facts.change_log import RecordedChange
    from ...step.resources.run_context import RunContext
    from ...step.tool_calls.effect_entries import Sorted


class Work(NamedTuple):
    """What tools and commands changed, as far as it was recorded while they worked."""

    paths: frozenset[str]
    edited: Mapping[str, str | None]
    """The digests of files whose newest change was an edit, which the gate let pass."""


def work_of(changes: Sequence[RecordedChange]) -> Work:
    """Return what these changes of a run or a try wrote; oldest first."""
    newest = {path: (moved.after, change.command is None) for change in changes for path, moved in change.files.items()}
    return Work(frozenset(newest), {path: after for path, (after, is_edit) in newest.items() if is_edit})


async def work_of_child(ctx: RunContext, started: PassStarted) -> Work:
    """Return what the child run of a pass changed in its copy. `ctx`: of the pass.

    A child that has not ended does not continue, because its pass ends. Repeating the call changes nothing.
    """
    child = ctx.facts.common.children.by_number.get(started.number)
    if child is None:
        return Work(frozenset(), {})
    edited = await asyncio.to_thread(_changes_of_child, Path(child.journal))
    if child.is_open:
        ctx.events.record(_given_up(child), work=child_name(child.number))
    newest = {path: after for path, (after, is_edit) in edited.items() if is_edit}
    return Work(frozenset(edited), newest)


def _changes_of_child(journal: Path) -> dict[str, tuple[str | None, bool]]:
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


def pass_approved(found: Sorted, work: Work) -> None:
    """Accept what was approved at the gate: nobody is asked twice."""
    for part in list(found.asking):
        is_approved = bool(part.effects) and all(_is_edit(effect, work) for effect in part.effects)
        if part.git is None and not part.draft.shown.conflict and is_approved:
            found.asking.remove(part)
            found.passing += [row_of(effect) for effect in part.effects]
            found.recorded |= {effect.path for effect in part.effects}


def _is_edit(effect: Effect, work: Work) -> bool:
    """Return whether this is exactly what an edit wrote, which the gate let pass."""
    before, after = effect.before, effect.after
    if after is None or after.type != "file" or after.executable != (before is not None and before.executable):
        return False
    return work.edited.get(effect.path) == after.digest
