"""A command that was let through: snapshotted around, so that what it changed is known, shown and guarded."""

from __future__ import annotations

from pathlib import Path

from ..gate import CommandDraft, Ruling, changed_draft
from ..protocol import FileChanged, Record
from ..tools import ToolResult, land
from ..workspace import Change
from .kit import Kit, PersonInterrupted


async def run_at_gate(kit: Kit, draft: CommandDraft, ruling: Ruling, record: Record) -> ToolResult:
    """Runs it; what it did to guarded files waits at the gate, to be kept or put back (REQUIREMENTS 2.3.6, 6.9)."""
    before = await kit.snapshots.take()
    try:
        with kit.watch.running():
            result = await kit.interruptible(land(draft, ruling, kit.tools))
    except PersonInterrupted:
        await _note_changes(kit, before, record)
        raise
    notes: list[str] = []
    for change in await _note_changes(kit, before, record):
        if why := _guarded(kit, change.path):
            notes += await _keep_or_restore(kit, change, before, draft.command, why, record)
    return result.with_notes(notes)


async def _note_changes(kit: Kit, before: str, record: Record) -> list[Change]:
    """What the command changed, recorded."""
    after = await kit.snapshots.take()
    if after == before:
        return []
    kit.changed = True
    changes = await kit.snapshots.changes(before, after)
    for change in changes:
        record(_changed(kit, change, "command"))
    return changes


def _guarded(kit: Kit, path: str) -> str | None:
    """Why nobody but a person may let this change stand; None: it may stand."""
    if kit.guard.matches(path):
        return "it decides whether the goal is met"
    return kit.workspace.caution(Path(path))


async def _keep_or_restore(kit: Kit, change: Change, tree: str, command: str, why: str, record: Record) -> list[str]:
    """The person may keep it; else it is put back and the model is told."""
    draft = changed_draft(change.path, change.before, change.after, command)
    ruling = await kit.interruptible(kit.gate.pass_(draft, call_id="", record=record))
    if ruling.approved:
        return []
    lost = await kit.snapshots.restore(tree, [change.path])
    if lost:
        return [f"`{change.path}` must not change ({why}), and it could not be put back: {lost[0]}"]
    record(_changed(kit, Change(path=change.path, kind="changed", before=change.after, after=change.before), "restore"))
    return [
        f"`{change.path}` must not change ({why}): what the command did to it was put back. {ruling.note_for_model}"
    ]


def _changed(kit: Kit, change: Change, by: str) -> FileChanged:
    keep = kit.journal.keep
    return FileChanged(
        path=change.path,
        by=by,
        before=None if change.before is None else keep(change.before),
        after=None if change.after is None else keep(change.after),
        added=_lines(change.after),
        removed=_lines(change.before),
    )


def _lines(data: bytes | None) -> int:
    return 0 if data is None else data.count(b"\n")
