"""Let a person decide on protected files that were changed in the workspace itself.

Those are the files that git or a tool runs by itself, and those that `--guard` names. Such a change may be the user's
own, so it stays until somebody decides about it (docs/decisions/0036). In a worktree of rundry it is restored, because
nobody else writes there.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ...gate.draft import changed_draft
from ...host.files.write_file import NEW_FILE
from ...layers.apply import CHANGED, carry_out
from ...layers.effect_rows import EffectRow
from ...layers.layer_effects import Side, side_at
from ...layers.open_below import FOLDER
from ...protocol import ChangesUndecided, FileChanged

if TYPE_CHECKING:
    from ...host.workspace_paths import Workspace
    from ...state.recorder import Events
    from ..resources.run_context import RunContext
    from .changed_in_place import ChangedInPlace, ProtectedChange

_MOST_ASKED = 20
"""Most files of one command about which a person is asked; further ones stay and are named."""


async def decide_protected(ctx: RunContext, events: Events, command: str, changed: ChangedInPlace) -> list[str]:
    """Let a person keep or restore each of the protected files that changed.

    What nobody decides about stays, or is restored in a worktree of rundry. Returns lines for the model. Raises
    PersonInterrupted.
    """
    waiting = [*changed.protected]
    notes, left = _about_names(changed), list[str]()
    try:
        for asked in range(len(waiting)):
            one = waiting[0]
            has_text = one.is_known and one.before != one.after and asked < _MOST_ASKED
            if ctx.is_own_tree:
                notes += await _restored(ctx, one, events)
            elif not (has_text and await _is_decided(ctx, one, command, events, notes)):
                left.append(one.path)
                notes.append(f"{one.line}.")
            waiting.pop(0)
    finally:
        left += [] if ctx.is_own_tree else [one.path for one in waiting]
        _note_unreviewed(ctx, events, left)
    return notes


async def leave_protected(ctx: RunContext, events: Events, changed: ChangedInPlace) -> list[str]:
    """Leave the protected files that changed as they are, without a question. The end of the run names them.

    In a worktree of rundry they are restored. Returns lines for the model.
    """
    notes = _about_names(changed)
    if ctx.is_own_tree:
        return [*notes, *[line for one in changed.protected for line in await _restored(ctx, one, events)]]
    _note_unreviewed(ctx, events, [one.path for one in changed.protected])
    return [*notes, *(f"{one.line}." for one in changed.protected)]


def _about_names(changed: ChangedInPlace) -> list[str]:
    return [f"{name} is a name of a hidden file: commands cannot read it." for name in changed.names]


def _note_unreviewed(ctx: RunContext, events: Events, paths: Sequence[str]) -> None:
    """Record which files nobody decided about, if that is new."""
    known = ctx.facts.changes.approvals.unreviewed
    if new := sorted({*known, *paths} - {*known}):
        events.record(ChangesUndecided(protected=sorted([*known, *new])))


async def _is_decided(ctx: RunContext, one: ProtectedChange, command: str, events: Events, notes: list[str]) -> bool:
    """Ask the person. `notes` gets the lines for the model. Returns False if nobody decided."""
    for data in (one.before, one.after):
        if data is not None:
            ctx.journal.blobs.keep(data)
    draft = changed_draft(one.path, one.before, one.after, command)
    ruling = await ctx.activity.interruptible(ctx.gate.propose(draft, call_id="", events=events))
    if not ruling.approved and ruling.refused_by == "person":
        notes += [f"{note} {ruling.note_for_model}" for note in await _restored(ctx, one, events)]
    return ruling.approved or ruling.refused_by == "person"


async def _restored(ctx: RunContext, one: ProtectedChange, events: Events) -> list[str]:
    """Restore the content from before the command. Returns a line for the model."""
    if not one.is_known:
        return [f"`{one.path}` must not change ({one.why}), and its content of before is not known."]
    before, after = (None if data is None else ctx.journal.blobs.keep(data) for data in (one.before, one.after))
    try:
        why = await asyncio.to_thread(_restore, ctx.workspace, one)
    except OSError as error:
        why = error.strerror or str(error)
    if why:
        return [f"`{one.path}` must not change ({one.why}), and it could not be restored: {why}."]
    ctx.files.mark_changed()
    events.record(FileChanged(path=one.path, by="restore", before=after, after=before))
    return [f"`{one.path}` must not change ({one.why}): the command's change was reverted."]


def _restore(ws: Workspace, one: ProtectedChange) -> str:
    """Restore a file or link. Returns why that is not possible. Raises OSError."""
    root = os.open(ws.root, FOLDER | os.O_CLOEXEC)
    try:
        seen = side_at(root, os.fsencode(one.path))
    finally:
        os.close(root)
    now = None if seen is None else seen.side
    if (None if one.after is None else hashlib.sha256(one.after).hexdigest()) != (None if now is None else now.digest):
        return CHANGED
    (result,) = carry_out(ws, [EffectRow(path=one.path, before=now, after=_side_before(one))], _Before(one))
    return result.conflict


def _side_before(one: ProtectedChange) -> Side | None:
    if one.before is None:
        return None
    return Side(
        type="link" if stat.S_ISLNK(one.mode) else "file",
        digest=hashlib.sha256(one.before).hexdigest(),
        size=len(one.before),
        executable=not stat.S_ISLNK(one.mode) and bool(one.mode & stat.S_IXUSR),
    )


class _Before(NamedTuple):
    """The content from before (`Source`)."""

    one: ProtectedChange

    def load(self, path: str, side: Side) -> bytes:
        del path, side
        return self.one.before or b""

    def make(self, path: str, side: Side, folder: int, name: str) -> None:
        del path, side
        with os.fdopen(os.open(name, NEW_FILE, 0o600, dir_fd=folder), "wb") as file:
            file.write(self.one.before or b"")
            os.fchmod(file.fileno(), stat.S_IMODE(self.one.mode) & 0o777)
