"""Undo changes of the run, and inform the model. A file that someone else changed since is kept and reported."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from ...protocol import Prompted, Undo, Undone
from ...repo.old_snapshots.restore import Restorer
from .inverse_rows import Inverse, InversePlan
from .undo_context import UndoContext, undo_context
from .undo_effects import UNPROVEN, finish_undos, forget_undo, nothing_undone, orders_of, undo_effects
from .undo_plan import FileRestore, RestorePlan

if TYPE_CHECKING:
    from ...state.facts.change_log import RecordedChange
    from ...state.facts.run_facts import RunFacts
    from ..live.live_run import LiveRun

MID_STEP = "a step runs: interrupt it first, then undo"
IN_STAGE = (
    "the run works in a stage, so nothing that it changes is in the workspace: leave it with /gate MODE, then undo"
)
PARALLEL_RESTORES = 16
"""Number of files to restore in parallel, because each of them waits for the disk."""
_NAMED = 40
"""Maximum number of files of each kind that the message to the model names."""


async def undo(run: LiveRun, command: Undo) -> str | None:
    """Undo changes. Returns None, or why it was refused.

    No step begins meanwhile. Once begun, the undo is completed even if this task is cancelled.
    """
    ctx = run.ctx
    if ctx.activity.is_running:
        return MID_STEP
    if ctx.stage is not None:
        return IN_STAGE
    async with run.files_lock.held("an undo"):
        if ctx.activity.is_running or is_mid_step(run.facts):
            return MID_STEP
        taking = asyncio.ensure_future(undo_changes(undo_context(run), command))
        try:
            taken = await asyncio.shield(taking)
        except asyncio.CancelledError:
            taken = await taking
            _record(run, taken)
            raise
        return _record(run, taken)


def _record(run: LiveRun, taken: str | Undone) -> str | None:
    if isinstance(taken, str):
        return taken
    with run.ctx.events.together():
        run.ctx.events.record(taken)
        run.messages.send(undo_prompt(taken, run.facts))
    forget_undo(undo_context(run), taken)
    run.ctx.files.mark_changed()
    run.ctx.stalls.reset_after_message()
    return None


async def finish_undo(run: LiveRun) -> None:
    """Finish an undo that a killed runner began, and record it."""
    for undone in await finish_undos(undo_context(run)):
        _record(run, undone)


async def undo_after_end(context: UndoContext, command: Undo) -> str | None:
    """Undo changes of a run that has no runner."""
    if is_mid_step(context.facts):
        return "the run stopped in the middle of a step: /resume it so that the step ends, then undo"
    taken = await undo_changes(context, command)
    if isinstance(taken, str):
        return taken
    _record_after_end(context, taken)
    return None


async def finish_undo_after_end(context: UndoContext) -> None:
    """Finish an undo that a killed process began, and record it."""
    for undone in await finish_undos(context):
        _record_after_end(context, undone)


def _record_after_end(context: UndoContext, undone: Undone) -> None:
    note = undo_prompt(undone, context.facts)
    context.events.record(undone)
    context.events.record(note)
    forget_undo(context, undone)


def is_mid_step(facts: RunFacts) -> bool:
    """Return whether a step has not ended or a call has no result."""
    return bool(facts.open_steps or facts.main.unanswered())


async def undo_changes(context: UndoContext, command: Undo) -> str | Undone:
    """Restore the files and record each. Returns the event for the caller to record, or why nothing was undone."""
    chosen = _chosen(context.facts, command)
    if isinstance(chosen, str):
        return chosen
    left = _unconfirmed(context.facts, chosen, command.confirmed)
    if left and all(not change.is_proven and path in left for change in chosen for path in change.files):
        return f"{_named(sorted(left))}: {UNPROVEN}"
    undone = await revert_changes(context, chosen, step=command.step, path=command.path, confirmed=command.confirmed)
    return msgspec.structs.replace(undone, path=command.path)


async def revert_changes(
    context: UndoContext,
    chosen: Sequence[RecordedChange],
    *,
    step: int | None = None,
    path: str | None = None,
    by: str = "person",
    confirmed: Sequence[str] = (),
) -> Undone:
    """Revert these changes and return the event. `chosen`: the newest changes that are not undone, oldest first.

    In the user's folder, files that a command changed in place are left as they are, unless a person confirmed them by
    name. `path`: only this file of the changes. The caller calls `forget_undo` once the event is recorded.
    """
    left = _unconfirmed(context.facts, chosen, confirmed)
    if any(change.effects is not None for change in chosen):
        try:
            found = await _inverse(context, chosen, left, path)
        except OSError as error:
            return nothing_undone(error, by)
        return await undo_effects(context, chosen, found, left, step=step, path=path, by=by)
    plan = RestorePlan(context.journal, context.snapshots)
    for change in reversed(chosen):
        files = {path: effect for path, effect in change.files.items() if path not in left}
        if files or not change.files:
            await plan.add(replace(change, files=files))
    files, kept = await _restore_all(context, plan.found.values())
    kept = sorted([*kept, *plan.lost, *(f"{name}: {UNPROVEN}" for name in left)])
    return Undone(changes=len(chosen), step=step, files=sorted(files), kept=kept, unconfirmed=sorted(left), by=by)


async def _inverse(
    context: UndoContext, chosen: Sequence[RecordedChange], left: Collection[str], path: str | None
) -> Inverse:
    """Return the rows that take these changes back. `path`: only those of this file. Raises OSError."""
    orders = await asyncio.to_thread(orders_of, context)
    plan = InversePlan(context.workspace, context.journal, context.snapshots, orders.kept)
    for change in reversed(chosen):
        await plan.add(change, only=path, left=left)
    return await asyncio.to_thread(plan.build)


def _unconfirmed(facts: RunFacts, chosen: Sequence[RecordedChange], confirmed: Sequence[str]) -> set[str]:
    """Return the files that a command changed in place, and that no person confirmed.

    In a worktree of rundry there are none.
    """
    if facts.spec.home != facts.spec.workspace:
        return set()
    by_commands = {path for change in chosen if not change.is_proven for path in change.files}
    return by_commands - {*confirmed}


def _chosen(facts: RunFacts, command: Undo) -> Sequence[RecordedChange] | str:
    """Return the changes to undo, oldest first, or why there are none."""
    changes, path = facts.changes, command.path
    if path is not None:
        found = [
            replace(change, files={path: change.files[path]})
            for change in [*changes.unconfirmed, *changes.standing]
            if path in change.files
        ]
        return found or f"{path}: no change of this run is left to undo"
    if command.step is not None:
        since = changes.since(command.step)
        if since is None:
            return f"there is no step {command.step}: the newest is {facts.step}"
        return since or f"nothing that was changed since step {command.step} began is left to undo"
    if command.changes < 1:
        return f"invalid number of changes {command.changes}: undo 1 or more"
    return changes.standing[-command.changes :] or (
        "all changes are undone already" if changes.undone else "nothing was changed yet"
    )


async def _restore_all(context: UndoContext, plan: Iterable[FileRestore]) -> tuple[list[str], list[str]]:
    """Restore the files. Returns the restored paths, and a line for each file that was kept.

    Files are deleted first, because they may be where a folder was before.
    """
    files: list[str] = []
    kept: list[str] = []
    restores = list(plan)
    for phase in ([w for w in restores if w.want is None], [w for w in restores if w.want is not None]):
        for start in range(0, len(phase), PARALLEL_RESTORES):
            batch = phase[start : start + PARALLEL_RESTORES]
            said = await asyncio.gather(*(asyncio.to_thread(_restore, context, restore) for restore in batch))
            kept += [why for why in said if why is not None]
            for restore in (restore for restore, why in zip(batch, said, strict=True) if why is None):
                files.append(restore.path)
                if not _is_recorded(context.facts, restore):
                    context.events.record(restore.moved())
    return files, kept


def _restore(context: UndoContext, restore: FileRestore) -> str | None:
    return Restorer(context.workspace, restore.folders).restore(restore.path, restore.want, restore.have)


def _is_recorded(facts: RunFacts, restore: FileRestore) -> bool:
    """Return whether an earlier undo, which was killed, has already recorded this file."""
    known = facts.changes.files.get(restore.path)
    return known is not None and known[1] == restore.to_blob != restore.from_blob


def undo_prompt(undone: Undone, facts: RunFacts) -> Prompted:
    """Return the message to the model: that the user undid changes, and which files were restored."""
    if undone.path is not None:
        text = [f"The person undid all that was changed in {undone.path}."]
    elif not undone.changes:
        text = ["The person wanted to undo changes."]
    elif undone.step is not None:
        text = [f"The person undid everything that was changed since step {undone.step} began."]
    else:
        last = "last change" if undone.changes == 1 else f"last {undone.changes} changes"
        text = [f"The person undid your {last}."]
    back = [path for path in undone.files if facts.changes.files.get(path, (None, ""))[1] is not None]
    gone = sorted({*undone.files} - {*back})
    if back:
        text.append(f"Restored: {_named(back)}.")
    if gone:
        text.append(f"Deleted, because they did not exist before: {_named(gone)}.")
    if undone.also:
        text.append(f"Undone, too: {'; '.join(undone.also)}.")
    if undone.kept:
        text.append("Not restored: " + "; ".join(undone.kept[:_NAMED]) + ".")
    if not undone.order:
        text.append("Files that git ignores were not restored.")
    text.append("Read a file before you change it again.")
    return Prompted(kind="undo", text=" ".join(text))


def _named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(paths[:_NAMED]) + more
