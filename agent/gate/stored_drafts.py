"""Rebuild the draft of a proposal that another runner opened, from the bytes in the journal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..host.files.file_states import FileState, stored_state
from .draft import FileDraft

if TYPE_CHECKING:
    from ..host.workspace_paths import Workspace
    from ..journal.blobs import Blobs
    from ..protocol import ProposalOpened


def is_file_change(opened: ProposalOpened) -> bool:
    """Return whether the proposal is a file change, with the bytes that would be written."""
    return opened.path is not None and opened.command is None and opened.after is not None


def stored_draft(opened: ProposalOpened, ws: Workspace, blobs: Blobs) -> FileDraft | None:
    """Return the same change with exactly the same bytes; None if the journal does not have them.

    If the file changes, a three-way merge joins both changes.
    """
    if opened.path is None or opened.after is None:
        return None
    try:
        before = None if opened.before is None else blobs.load(opened.before)
        after = blobs.load(opened.after)
    except KeyError:
        return None
    path = opened.path
    state = stored_state(Path(path), ws.root / path, before)
    return FileDraft(tool=opened.tool, path=path, before=state, after=after, plan=_LostPlan())


class _LostPlan:
    """The plan of a tool that was lost with its runner, so that only a merge can fit the change."""

    def on(self, state: FileState) -> str:
        return "someone else changed the same lines" if state.exists else "the file is gone"
