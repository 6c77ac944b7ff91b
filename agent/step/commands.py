"""A command that was let through: snapshotted around, so that what it changed is known, shown and guarded."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from ..gate import CommandDraft, Ruling, changed_draft
from ..protocol import FileChanged, Record
from ..tools import ToolResult, land
from ..workspace import Change, SnapshotDamaged
from .kit import Kit, PersonInterrupted, tell_waiting
from .tail import Tail


class CommandEnded(PersonInterrupted):
    """A person ended a command that ran."""

    def __init__(self, how: PersonInterrupted, left: str) -> None:
        super().__init__(str(how))
        self.left = left
        """What the model reads: what the command printed and did before its end."""


async def run_at_gate(kit: Kit, draft: CommandDraft, ruling: Ruling, record: Record) -> ToolResult:
    """Runs it; what it did to guarded files waits at the gate, to be kept or put back (REQUIREMENTS 2.3.6, 6.9)."""
    before = await kit.snapshots.take()
    printed = Tail()
    kit.tools.on_output = printed.hear
    try:
        with kit.watch.running():
            result = await kit.interruptible(land(draft, ruling, kit.tools))
    except PersonInterrupted as how:
        changes = await _note_changes(kit, before, record)
        notes = await _put_back(kit, [c for c in changes if _guarded(kit, c.path)], before, record)
        raise CommandEnded(how, _left_behind(printed, changes, notes)) from how
    changes = await _note_changes(kit, before, record)
    return result.with_notes(await _judge_guarded(kit, changes, before, draft.command, record))


async def settle_lost_command(kit: Kit, command: str, before: str, record: Record) -> list[str]:
    """What a command did whose runner died: recorded, and judged where it is guarded. `before`: the tree it began on.

    The lines are for the model.
    """
    try:
        changes = await _note_changes(kit, before, record)
        return await _judge_guarded(kit, changes, before, command, record)
    except SnapshotDamaged as error:
        return [f"What it changed cannot be known: {error}"]


def _left_behind(printed: Tail, changes: Sequence[Change], notes: Sequence[str]) -> str:
    """What became of a command that a person ended."""
    text = ["The person ended this command while it ran: it may have done a part of its work. Look first."]
    if changes:
        text.append(f"It had changed: {', '.join(change.path for change in changes[:20])}.")
    text += notes
    if shown := printed.text.strip():
        text.append(f"It had printed:\n{shown}")
    return "\n".join(text)


async def _note_changes(kit: Kit, before: str, record: Record) -> list[Change]:
    """What the command changed, recorded."""
    after = await kit.snapshots.take()
    if not before or not after:
        kit.changed = True
        return []
    if after == before:
        return []
    kit.changed = True
    changes = await kit.snapshots.changes(before, after)
    for change in changes:
        record(_changed(kit, change, "command"))
    return changes


async def _judge_guarded(kit: Kit, changes: Sequence[Change], tree: str, command: str, record: Record) -> list[str]:
    """Each guarded change may be kept by the person; what nobody allows is put back, whatever comes between."""
    waiting = [change for change in changes if _guarded(kit, change.path)]
    notes: list[str] = []
    while waiting:
        try:
            notes += await _keep_or_restore(kit, waiting[0], tree, command, record)
        except (PersonInterrupted, asyncio.CancelledError):
            await _put_back(kit, waiting, tree, record)
            raise
        waiting.pop(0)
    return notes


def _guarded(kit: Kit, path: str) -> str | None:
    """Why nobody but a person may let this change stand; None: it may stand."""
    if kit.guard.matches(path):
        return "it decides whether the goal is met"
    return kit.workspace.caution(Path(path))


async def _keep_or_restore(kit: Kit, change: Change, tree: str, command: str, record: Record) -> list[str]:
    """The person may keep it; else it is put back and the model is told."""
    draft = changed_draft(change.path, change.before, change.after, command)
    ruling = await kit.interruptible(kit.gate.pass_(draft, call_id="", record=tell_waiting(record)))
    if ruling.approved:
        return []
    notes = await _put_back(kit, [change], tree, record)
    return [f"{note} {ruling.note_for_model}" for note in notes]


async def _put_back(kit: Kit, changes: Sequence[Change], tree: str, record: Record) -> list[str]:
    """As they were before the command, with what the model has to know of it."""
    notes: list[str] = []
    for change in changes:
        why = _guarded(kit, change.path)
        lost = await kit.snapshots.restore(tree, [change.path])
        if lost:
            notes.append(f"`{change.path}` must not change ({why}), and it could not be put back: {lost[0]}")
            continue
        back = Change(path=change.path, kind="changed", before=change.after, after=change.before)
        record(_changed(kit, back, "restore"))
        notes.append(f"`{change.path}` must not change ({why}): what the command did to it was put back.")
    return notes


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
