"""Record what a command changed, and restore guarded files unless someone allows the change."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...gate.draft import changed_draft
from ...workspace.errors import SnapshotDamaged
from ...workspace.sandbox.places import is_protected
from ...workspace.snapshots.snapshots import Change
from ..resources.activity import PersonInterrupted
from ..resources.recorder import with_waiting
from .file_events import file_changed

if TYPE_CHECKING:
    from ...facts.facts import RunFacts
    from ...journal.journal import Journal
    from ...protocol import Record
    from ...stops.guard import Guard
    from ...workspace.paths import Workspace
    from ..resources.change_tracker import ChangeTracker
    from ..resources.context import RunContext


async def check_lost_command(ctx: RunContext, command: str, before: str, record: Record) -> list[str]:
    """Record the changes of a command whose runner died, and check the guarded ones. `before`: snapshot at its start.

    Returns lines for the model.
    """
    try:
        changes = await record_changes(ctx, before, record)
        if not ctx.guarded.has_earlier_seal:
            return await _judge(
                ctx, [c for c in changes if _guarded(ctx.workspace, ctx.guard, c.path)], before, command, record
            )
        return await keep_or_restore_guarded(ctx, changes, before, command, record)
    except SnapshotDamaged as error:
        unknown = [f"What it changed cannot be known: {error}"]
        return [*unknown, *await ctx.guarded.keep_or_restore(record, command, full=True)]


async def record_lost_command(ctx: RunContext, before: str, record: Record) -> None:
    """Record the changes of a command whose runner died, as far as they are known, without asking anyone."""
    with contextlib.suppress(SnapshotDamaged):
        await record_changes(ctx, before, record)


async def changed_since(ctx: RunContext, before: str) -> list[str]:
    """Return the files that differ from a snapshot, except those that a tool of the run left as they are."""
    after = await ctx.snapshots.take()
    try:
        changes = await ctx.snapshots.changes(before, after) if before and after else []
    except SnapshotDamaged as error:
        return [str(error)]
    return [change.path for change in changes if not _is_known(ctx.journal, ctx.facts, change)]


async def record_changes(ctx: RunContext, before: str, record: Record) -> list[Change]:
    """Record and return what the command changed."""
    after = await ctx.snapshots.take()
    ctx.background.note_tree(after)
    if not before or not after:
        ctx.files.mark_changed()
        return []
    if after == before:
        return []
    ctx.files.mark_changed()
    changes = [
        c
        for c in await ctx.snapshots.changes(before, after)
        if _guarded(ctx.workspace, ctx.guard, c.path) or not _is_by_person(ctx.journal, ctx.files, c)
    ]
    for change in changes:
        record(file_changed(ctx.journal, change, "command"))
    return changes


async def record_background_changes(ctx: RunContext, record: Record) -> list[str]:
    """Record changes without another author as those of background commands, and check the guarded ones.

    Returns lines for the model.
    """
    found = await ctx.background.unexplained_change()
    if found is None:
        return []
    before, after, titles = found
    ctx.files.mark_changed()
    title = "; ".join(titles)
    changes = [
        c
        for c in await ctx.snapshots.changes(before, after)
        if not (_is_by_person(ctx.journal, ctx.files, c) or _is_known(ctx.journal, ctx.facts, c))
    ]
    for change in changes:
        record(msgspec.structs.replace(file_changed(ctx.journal, change, "background"), command=title))
    return await keep_or_restore_guarded(ctx, changes, before, title, record)


def _is_by_person(journal: Journal, files: ChangeTracker, change: Change) -> bool:
    """Return whether a command of the user left the file in this state."""
    return change.path in files.person_made and files.person_made[change.path] == _blob(journal, change)


def _is_known(journal: Journal, facts: RunFacts, change: Change) -> bool:
    """Return whether a tool left the file in this state."""
    known = facts.changes.files.get(change.path)
    return known is not None and known[1] == _blob(journal, change)


def _blob(journal: Journal, change: Change) -> str | None:
    return None if change.after is None else journal.keep(change.after)


async def keep_or_restore_guarded(
    ctx: RunContext, changes: Sequence[Change], tree: str, command: str, record: Record
) -> list[str]:
    """Ask the person about each guarded or protected change, who keeps or restores it. Returns lines for the model.

    What nobody decides about stays in the user's folder, and is restored in a worktree of rundry.
    """
    waiting = [change for change in changes if _cautioned(ctx, change)]
    try:
        notes = await _judge(ctx, waiting, tree, command, record)
    except (PersonInterrupted, asyncio.CancelledError):
        await ctx.guarded.restore_all(record)
        raise
    judged = {change.path for change in waiting}
    return notes + await ctx.guarded.keep_or_restore(record, command, full=False, judged=judged)


async def restore_guarded(ctx: RunContext, changes: Sequence[Change], tree: str, record: Record) -> list[str]:
    """Restore all guarded files in a worktree of rundry, else leave them; nobody is asked. Returns lines."""
    waiting = [change for change in changes if _cautioned(ctx, change)]
    notes = await _restore(ctx, waiting, tree, record) if ctx.guarded.restores else _leave(ctx, waiting, record)
    return notes + await ctx.guarded.restore_all(record)


async def _judge(ctx: RunContext, changes: Sequence[Change], tree: str, command: str, record: Record) -> list[str]:
    waiting = list(changes)
    notes: list[str] = []
    while waiting:
        try:
            notes += await _keep_or_restore(ctx, waiting[0], tree, command, record)
        except (PersonInterrupted, asyncio.CancelledError):
            if ctx.guarded.restores:
                await _restore(ctx, waiting, tree, record)
            else:
                _leave(ctx, waiting, record)
            raise
        waiting.pop(0)
    return notes


def _cautioned(ctx: RunContext, change: Change) -> bool:
    """Return whether only a person may keep the change, except for guarded files, which are compared by content.

    What bubblewrap mounted read-only cannot be a write of the command.
    """
    path, root = change.path, ctx.workspace.root
    if ctx.guard.matches(path) or ctx.workspace.caution(Path(path)) is None:
        return False
    was_read_only = ctx.sandbox.kind == "bubblewrap" and change.kind != "added" and is_protected(root / path, root)
    return not was_read_only or ctx.guarded.restores


def _guarded(workspace: Workspace, guard: Guard, path: str) -> str | None:
    """Return why only a person may keep this change, or None."""
    if guard.matches(path):
        return "it decides whether the goal is met"
    return workspace.caution(Path(path))


async def _keep_or_restore(ctx: RunContext, change: Change, tree: str, command: str, record: Record) -> list[str]:
    """Keep the change if the user allows it; else restore the file and inform the model."""
    draft = changed_draft(change.path, change.before, change.after, command)
    ruling = await ctx.activity.interruptible(ctx.gate.propose(draft, call_id="", record=with_waiting(record)))
    if ruling.approved:
        return []
    if not ctx.guarded.restores and ruling.refused_by != "person":
        return [f"{note} {ruling.note_for_model}" for note in _leave(ctx, [change], record)]
    notes = await _restore(ctx, [change], tree, record)
    return [f"{note} {ruling.note_for_model}" for note in notes]


def _leave(ctx: RunContext, changes: Sequence[Change], record: Record) -> list[str]:
    """Leave the protected files as they are, because the user may have changed them. Returns lines for the model."""
    ctx.guarded.note_undecided(record, [change.path for change in changes])
    why = {change.path: _guarded(ctx.workspace, ctx.guard, change.path) for change in changes}
    return [f"`{path}` changed while a command ran ({reason}). It stays as it is." for path, reason in why.items()]


async def _restore(ctx: RunContext, changes: Sequence[Change], tree: str, record: Record) -> list[str]:
    """Restore the files as they were before the command. Returns lines for the model."""
    notes: list[str] = []
    for change in changes:
        why = _guarded(ctx.workspace, ctx.guard, change.path)
        lost = await ctx.snapshots.restore(tree, [change.path])
        if lost:
            notes.append(f"`{change.path}` must not change ({why}), and it could not be restored: {lost[0]}")
            continue
        back = Change(path=change.path, kind="changed", before=change.after, after=change.before)
        record(file_changed(ctx.journal, back, "restore"))
        notes.append(f"`{change.path}` must not change ({why}): the command's change was reverted.")
    return notes
