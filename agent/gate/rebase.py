"""Plan a waiting change again on the file's current content (docs/requirements.md 6.5): it fits or is in conflict."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from ..host.file_errors import PathRefused, UnreadableFile
from ..host.files.file_states import FileState
from .draft import FileDraft, read_file_state
from .three_way_merge import merge_states

if TYPE_CHECKING:
    from ..host.workspace_paths import Workspace

REBASED = "the file changed on disk meanwhile: the change was moved to its new content"


class Conflict(msgspec.Struct, frozen=True, kw_only=True):
    """A change that no longer fits: the person resolves it, or the model makes the change again."""

    why: str
    """The reason, in one line."""
    now: FileState | None = None
    """The file's current state, or None if there is no readable file."""
    merged: bytes | None = None
    """Both versions in one text, with markers, for the person to edit, or None if there is nothing to edit."""


def rebase_draft(ws: Workspace, draft: FileDraft) -> FileDraft | Conflict:
    """Plan the same change on the file's current content. If the file has it already, `after` is `before.data`."""
    try:
        now = read_file_state(ws, str(draft.before.path))
    except (PathRefused, UnreadableFile) as error:
        return Conflict(why=_one_line(str(error)))
    if now.real != draft.before.real:
        return Conflict(why=f"{draft.path} now leads somewhere else, to {now.real}")
    if now.sha256 == draft.before.sha256:
        return msgspec.structs.replace(draft, before=now)
    if now.exists and now.data == draft.after:
        return _on(draft, now, now.data)
    after = draft.plan.on(now)
    if isinstance(after, bytes):
        return _on(draft, now, after)
    if not now.exists:
        return Conflict(why=_in_short(after), now=now)
    merged = merge_states(draft.before, now, draft.after or b"")
    if merged is not None and merged[1] == 0:
        return _on(draft, now, merged[0])
    return Conflict(why=_in_short(after), now=now, merged=None if merged is None else merged[0])


def holds_already(draft: FileDraft) -> bool:
    """Return whether the file already has exactly the bytes that the change would write."""
    return draft.written_by is None and draft.before.exists and draft.after == draft.before.data


def with_approved_bytes(draft: FileDraft, after: bytes, notes: list[str]) -> FileDraft:
    """Return the draft with the bytes that the person approved. If the file changes again, both changes are merged."""
    plan = _ApprovedBytes(draft.before, after)
    return msgspec.structs.replace(draft, after=after, plan=plan, notes=[*draft.notes, *notes])


@dataclass(frozen=True, slots=True)
class _ApprovedBytes:
    """The bytes that a person approved for a file."""

    base: FileState
    after: bytes

    def on(self, state: FileState) -> bytes | str:
        merged = merge_states(self.base, state, self.after) if state.exists or not self.base.exists else None
        if merged is None or merged[1]:
            return "it overlaps with what the person approved"
        return merged[0]


def conflict_digest(draft: FileDraft, conflict: Conflict) -> str:
    """Return the digest of a proposal in conflict: it covers the file on disk and what would be written."""
    now = conflict.now
    parts = [
        b"conflict",
        str(draft.before.real).encode("utf-8", "surrogateescape"),
        (conflict.why if now is None else now.sha256 or "absent").encode("utf-8", "surrogateescape"),
        draft.after or b"",
    ]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def _on(draft: FileDraft, now: FileState, after: bytes) -> FileDraft:
    notes = draft.notes if REBASED in draft.notes else [*draft.notes, REBASED]
    return msgspec.structs.replace(draft, before=now, after=after, notes=notes)


def _one_line(text: str) -> str:
    return text.splitlines()[0] if text else text


def _in_short(conflict: str) -> str:
    """Keep the first sentence, for the person. The rest tells the model how to correct its call."""
    return _one_line(conflict).partition(". ")[0].removesuffix(".").replace("old_text", "the text that it replaces")
