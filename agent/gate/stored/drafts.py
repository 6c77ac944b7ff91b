"""Rebuild the draft of a proposal that another runner opened, from the bytes in the journal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ...protocol import ProposalOpened
from ...workspace import FileState, Workspace, stored_state
from ..draft import FileDraft, digest_of

Load = Callable[[str], bytes]
"""Reads stored bytes by their hash. Raises KeyError."""


def is_of_a_file(opened: ProposalOpened) -> bool:
    """Return whether the proposal is a change of one file that was not made yet."""
    return opened.path is not None and opened.command is None and opened.after is not None


def stored_draft(opened: ProposalOpened, ws: Workspace, load: Load) -> FileDraft | None:
    """Return the same change with exactly the same bytes; None if the journal does not have them.

    If the file changes, a three-way merge joins both changes.
    """
    if opened.path is None or opened.after is None:
        return None
    try:
        before = None if opened.before is None else load(opened.before)
        after = load(opened.after)
    except KeyError:
        return None
    path = opened.path
    state = stored_state(Path(path), ws.root / path, before)
    return FileDraft(tool=opened.tool, path=path, before=state, after=after, again=_misfit)


def is_the_same(opened: ProposalOpened, draft: FileDraft) -> bool:
    """Return whether the draft has the bytes that the digest names."""
    return digest_of(draft, None) == opened.digest


def _misfit(now: FileState) -> str:
    """Return why only a merge can make the change fit: the tool's own plan is lost with its runner."""
    return "someone else changed the same lines" if now.exists else "the file is gone"
