"""Run an approved command between two snapshots, so that its changes are known, shown and guarded."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ...gate import CommandDraft, Ruling, changed_draft
from ...gate.change.diff import compare_contents
from ...gate.change.hunks import Split
from ...protocol import FileChanged, Record
from ...stops import count_failing
from ...tools import ToolResult, land
from ...workspace import Change, Need, SnapshotDamaged
from ..resources.activity import PersonInterrupted
from ..resources.kit import Kit
from ..resources.recorder import with_waiting
from .gated.disturbed import Disturbed
from .tail import Tail

REFUSED = "The sandbox refused:"
NOBODY_LETS_IT = "Nobody is here to allow it: find a way that does not need it, or say so."
LET_THROUGH = "The person allowed it once:"
_COMPARED = 1 << 18
"""Bytes of the largest file whose changed lines are counted."""
_MOST_NEEDS = 4
"""Most permissions that one command may ask for, one after the other."""


class CommandEnded(PersonInterrupted):
    """A user ended a running command."""

    def __init__(self, how: PersonInterrupted, left: str) -> None:
        super().__init__(str(how))
        self.left = left
        """Text for the model: what the command printed and changed before its end."""


async def run_at_gate(kit: Kit, draft: CommandDraft, ruling: Ruling, record: Record) -> ToolResult:
    """Run the command. If the sandbox refuses something and a user allows it, run it once more with that permission
    only.
    """
    result = await _run(kit, draft, ruling, record)
    for _ in range(_MOST_NEEDS):
        need = _refused(kit, draft, result)
        if need is None:
            break
        if not kit.watched():
            return result.with_notes([f"{REFUSED} {need.what}. {NOBODY_LETS_IT}"])
        try:
            opening = kit.gate.pass_(_widened(draft, need), call_id="", record=with_waiting(record))
            ruling = await kit.activity.interruptible(opening)
        except PersonInterrupted as how:
            raise CommandEnded(how, f"{result.text}\n{REFUSED} {need.what}.") from how
        if not ruling.approved or not isinstance(ruling.draft, CommandDraft):
            return result.with_notes([f"{REFUSED} {need.what}. {_not_let(ruling)}"])
        draft = ruling.draft
        result = await _run(kit, draft, ruling, record)
        result = msgspec.structs.replace(
            result, text=f"The first try failed: {REFUSED} {need.what}. {LET_THROUGH}\n{result.text}"
        )
    return result


def _refused(kit: Kit, draft: CommandDraft, result: ToolResult) -> Need | None:
    """Return what the sandbox refused, or None. Failing tests do not count: their output is about the code."""
    done = result.finished
    if done is None or not (done.exit_code or done.restored) or draft.unsandboxed:
        return None
    need = kit.sandbox.refused(
        done,
        kit.workspace.root,
        command=draft.command,
        network=draft.network,
        writable=draft.writable,
        read_only=kit.guarded.read_only(),
    )
    return need if need is not None and count_failing(done.full.decode("utf-8", "replace")) is None else None


def _widened(draft: CommandDraft, need: Need) -> CommandDraft:
    """Return the same command with one more permission."""
    return msgspec.structs.replace(
        draft,
        beyond=need.what if draft.beyond is None else f"{draft.beyond}; {need.what}",
        network=draft.network or need.network,
        writable=draft.writable if need.place is None else (*draft.writable, need.place),
        unsandboxed=need.unsandboxed,
    )


def _not_let(ruling: Ruling) -> str:
    if ruling.refused_by == "person":
        why = f": {ruling.reason}" if ruling.reason else ", without a reason"
        return f"The person did not allow it{why}. Find a way that does not need it, or ask."
    return ruling.note_for_model


async def _run(kit: Kit, draft: CommandDraft, ruling: Ruling, record: Record) -> ToolResult:
    """Run it once. Its changes of guarded files wait at the gate (docs/requirements.md 2.3.6, 6.9)."""
    notes = await notice_background(kit, record)
    kit.files.person_made.clear()
    before = await kit.snapshots.take()
    disturbed = await Disturbed.watch(kit)
    printed = Tail()
    try:
        with kit.usage.running():
            result = await kit.activity.interruptible(land(draft, ruling, kit.tools, printed.hear))
    except PersonInterrupted as how:
        changes = await _note_changes(kit, before, record)
        notes = await _restore(kit, [c for c in changes if _cautioned(kit, c.path)], before, record)
        notes += await kit.guarded.restore_all(record)
        raise CommandEnded(how, _left_behind(printed, changes, notes)) from how
    changes = await _note_changes(kit, before, record)
    result = msgspec.structs.replace(result, disturbed=await disturbed.paths())
    return result.with_notes([*notes, *await _judge_guarded(kit, changes, before, draft.command, record)])


async def settle_lost_command(kit: Kit, command: str, before: str, record: Record) -> list[str]:
    """Record the changes of a command whose runner died, and check the guarded ones. `before`: the tree at its start.

    Returns lines for the model.
    """
    try:
        changes = await _note_changes(kit, before, record)
        if not kit.guarded.has_earlier_seal:
            return await _judge(kit, [c for c in changes if _guarded(kit, c.path)], before, command, record)
        return await _judge_guarded(kit, changes, before, command, record)
    except SnapshotDamaged as error:
        unknown = [f"What it changed cannot be known: {error}"]
        return [*unknown, *await kit.guarded.settle(record, command, full=True)]


async def note_lost_command(kit: Kit, before: str, record: Record) -> None:
    """Record the changes of a command whose runner died, as far as they are known, without asking anyone."""
    with contextlib.suppress(SnapshotDamaged):
        await _note_changes(kit, before, record)


def _left_behind(printed: Tail, changes: Sequence[Change], notes: Sequence[str]) -> str:
    """Describe the effects of a command that a user ended."""
    text = ["The person ended this command while it ran: it may have done part of its work. Look first."]
    if changes:
        text.append(f"It had changed: {', '.join(change.path for change in changes[:20])}.")
    text += notes
    if shown := printed.text.strip():
        text.append(f"It had printed:\n{shown}")
    return "\n".join(text)


async def _note_changes(kit: Kit, before: str, record: Record) -> list[Change]:
    """Record and return what the command changed."""
    after = await kit.snapshots.take()
    kit.background.account(after)
    if not before or not after:
        kit.files.mark_changed()
        return []
    if after == before:
        return []
    kit.files.mark_changed()
    changes = [c for c in await kit.snapshots.changes(before, after) if _guarded(kit, c.path) or not _by_person(kit, c)]
    for change in changes:
        record(file_changed(kit, change, "command"))
    return changes


async def notice_background(kit: Kit, record: Record) -> list[str]:
    """Record changes since the last look as those of background commands, and check the guarded ones.

    Returns lines for the model.
    """
    found = await kit.background.notice()
    if found is None:
        return []
    before, after, titles = found
    kit.files.mark_changed()
    title = "; ".join(titles)
    changes = [c for c in await kit.snapshots.changes(before, after) if not (_by_person(kit, c) or _is_known(kit, c))]
    for change in changes:
        record(msgspec.structs.replace(file_changed(kit, change, "background"), command=title))
    return await _judge_guarded(kit, changes, before, title, record)


def _by_person(kit: Kit, change: Change) -> bool:
    """Return whether a command of the user left the file in this state."""
    return change.path in kit.files.person_made and kit.files.person_made[change.path] == _blob(kit, change)


def _is_known(kit: Kit, change: Change) -> bool:
    """Return whether a tool left the file in this state."""
    known = kit.facts.changes.files.get(change.path)
    return known is not None and known[1] == _blob(kit, change)


def _blob(kit: Kit, change: Change) -> str | None:
    return None if change.after is None else kit.journal.keep(change.after)


async def _judge_guarded(kit: Kit, changes: Sequence[Change], tree: str, command: str, record: Record) -> list[str]:
    """Ask the user about each guarded change. What nobody allows is restored, also after an exception."""
    waiting = [change for change in changes if _cautioned(kit, change.path)]
    try:
        notes = await _judge(kit, waiting, tree, command, record)
    except (PersonInterrupted, asyncio.CancelledError):
        await kit.guarded.restore_all(record)
        raise
    return notes + await kit.guarded.settle(record, command, full=False)


async def _judge(kit: Kit, changes: Sequence[Change], tree: str, command: str, record: Record) -> list[str]:
    waiting = list(changes)
    notes: list[str] = []
    while waiting:
        try:
            notes += await _keep_or_restore(kit, waiting[0], tree, command, record)
        except (PersonInterrupted, asyncio.CancelledError):
            await _restore(kit, waiting, tree, record)
            raise
        waiting.pop(0)
    return notes


def _cautioned(kit: Kit, path: str) -> str | None:
    """Like `_guarded`, without the files that decide: those are compared by content."""
    return None if kit.guard.matches(path) else kit.workspace.caution(Path(path))


def _guarded(kit: Kit, path: str) -> str | None:
    """Return why only a user may keep this change, or None."""
    if kit.guard.matches(path):
        return "it decides whether the goal is met"
    return kit.workspace.caution(Path(path))


async def _keep_or_restore(kit: Kit, change: Change, tree: str, command: str, record: Record) -> list[str]:
    """Keep the change if the user allows it; else restore the file and inform the model."""
    draft = changed_draft(change.path, change.before, change.after, command)
    ruling = await kit.activity.interruptible(kit.gate.pass_(draft, call_id="", record=with_waiting(record)))
    if ruling.approved:
        return []
    notes = await _restore(kit, [change], tree, record)
    return [f"{note} {ruling.note_for_model}" for note in notes]


async def _restore(kit: Kit, changes: Sequence[Change], tree: str, record: Record) -> list[str]:
    """Restore the files as they were before the command. Returns lines for the model."""
    notes: list[str] = []
    for change in changes:
        why = _guarded(kit, change.path)
        lost = await kit.snapshots.restore(tree, [change.path])
        if lost:
            notes.append(f"`{change.path}` must not change ({why}), and it could not be restored: {lost[0]}")
            continue
        back = Change(path=change.path, kind="changed", before=change.after, after=change.before)
        record(file_changed(kit, back, "restore"))
        notes.append(f"`{change.path}` must not change ({why}): the command's change was reverted.")
    return notes


def file_changed(kit: Kit, change: Change, by: str) -> FileChanged:
    """Return the event of a file that differs between two snapshots."""
    keep, (added, removed) = kit.journal.keep, _counts(change)
    return FileChanged(
        path=change.path,
        by=by,
        before=None if change.before is None else keep(change.before),
        after=None if change.after is None else keep(change.after),
        added=added,
        removed=removed,
    )


def _counts(change: Change) -> tuple[int, int]:
    """Count lines added and removed; for large or binary files 0 or all lines."""
    if max(len(change.before or b""), len(change.after or b"")) <= _COMPARED:
        sides = compare_contents(change.before, change.after)
        if sides is not None:
            parts = Split(sides.old, sides.new, list(sides.compare()))
            return parts.added, parts.removed
    return _lines(change.after), _lines(change.before)


def _lines(data: bytes | None) -> int:
    return 0 if data is None else data.count(b"\n")
