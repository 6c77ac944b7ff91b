"""A command that was let through: snapshotted around, so that what it changed is known, shown and guarded."""

from __future__ import annotations

from ..gate import CommandDraft, Ruling, changed_draft
from ..protocol import FileChanged, Record
from ..tools import ToolResult, land
from ..workspace import Change
from .kit import Kit


async def run_at_gate(kit: Kit, draft: CommandDraft, ruling: Ruling, record: Record) -> ToolResult:
    """Runs it; what it did to guarded files waits at the gate, to be kept or put back (REQUIREMENTS 2.3.6)."""
    before = await kit.snapshots.take()
    with kit.watch.running():
        result = await kit.interruptible(land(draft, ruling, kit.tools))
    after = await kit.snapshots.take()
    if after == before:
        return result
    notes: list[str] = []
    for change in await kit.snapshots.changes(before, after):
        record(_changed(kit, change, "command"))
        if kit.guard.matches(change.path):
            note = await _keep_or_restore(kit, change, before, draft.command, record)
            if note is not None:
                notes.append(note)
    kit.changed = True
    return result.with_notes(notes)


async def _keep_or_restore(kit: Kit, change: Change, tree: str, command: str, record: Record) -> str | None:
    """The person may keep it; else it is put back and the model is told. None: it was kept."""
    draft = changed_draft(change.path, change.before, change.after, command)
    ruling = await kit.interruptible(kit.gate.pass_(draft, call_id="", record=record))
    if ruling.approved:
        return None
    lost = await kit.snapshots.restore(tree, [change.path])
    back = Change(path=change.path, kind="changed", before=change.after, after=change.before)
    record(_changed(kit, back, "restore"))
    if lost:
        return (
            f"`{change.path}` decides whether the goal is met and must not change; it could not be restored: {lost[0]}"
        )
    guarded = f"`{change.path}` decides whether the goal is met"
    return f"{guarded}: the command's change to it was put back. {ruling.note_for_model}"


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
