"""Find what somebody changed while a run rested: files that its model knows, and git's HEAD (decisions/0043, 9)."""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from ...host.file_errors import UnreadableFile
from ...host.files.file_states import read_state
from ...protocol import Prompted
from ...protocol.text.counts import first_names
from ...repo.head_log import head_moved

if TYPE_CHECKING:
    from ...host.workspace_paths import Workspace
    from ...state.facts.run_facts import RunFacts

_MOST_FILES, _MOST_BYTES = 500, 2_000_000
"""The newest files, and the size of one up to which it is compared."""
_NAMED = 20
"""Files that the message to the model names."""
_COMMIT = 9


class ChangedSince(msgspec.Struct, frozen=True):
    """What is different from what the run knew."""

    files: list[str] = []
    head: list[str] = []
    """The commits of git's HEAD, before and now; empty if it did not move."""


def changed_since(facts: RunFacts, workspace: Workspace, since: float) -> ChangedSince:
    """Compare the files that the model has seen, or that the run wrote, with the workspace. Reads them.

    `since`: when the earlier runner recorded its last event, Unix seconds.
    """
    if not facts.spec.loop.traits.has_one_conversation:
        return ChangedSince()
    known = islice(reversed(_known(facts).items()), _MOST_FILES)
    files = sorted(path for path, contents in known if differs(workspace, path, contents))
    head = head_moved(workspace.root, since)
    return ChangedSince(files, [] if head is None else [commit[:_COMMIT] for commit in head])


def _known(facts: RunFacts) -> dict[str, set[str]]:
    """Return the newest contents that the run knows of each file: what it wrote, and what its model has seen.

    The newest file is the last. An empty digest means that there is no file.

    What was being written when the runner died is not known yet.
    """
    writing = [facts.requests.approved.get(call.call_id) for call in facts.main.unanswered()]
    paths = {opened.path for opened in writing if opened is not None}
    if None in paths or facts.changes.accepted or facts.changes.undoing:
        return {}
    written = {path: new for path, (_, new) in facts.changes.files.items() if path not in paths}
    known = {path: {new} for path, new in written.items() if new is not None}
    for path, digest in _newest_seen(facts).items():
        if path not in paths:
            known.pop(path, None)
            known[path] = {digest, written.get(path, digest) or ""}
    return known


def _newest_seen(facts: RunFacts) -> dict[str, str]:
    """Return the digest of the content of each file that the model saw last, the newest file last."""
    found = dict[str, str]()
    for message in facts.main.current():
        for seen in (*message.seen, *(call.seen for call in message.calls if call.seen is not None)):
            found.pop(seen.path, None)
            found[seen.path] = seen.digest
    return found


def differs(workspace: Workspace, path: str, contents: set[str]) -> bool:
    """Return whether a file has none of these contents, is gone, or is something else than a plain file."""
    real = workspace.root / path
    with suppress(OSError):
        if real.lstat().st_size > _MOST_BYTES:
            return False
    try:
        return (read_state(real, beneath=workspace.root).sha256 or "") not in contents
    except UnreadableFile:
        return True


def note_changed(facts: RunFacts, found: ChangedSince) -> Prompted | None:
    """Return the message to the model, or None if there is nothing that its conversation does not say already."""
    lines = list[str]()
    if found.files:
        names = first_names(found.files, _NAMED)
        lines.append(
            f"These files were changed since you saw or wrote them: {names}. Read a file before you rely on it."
        )
    if found.head:
        lines.append(f"git's HEAD moved from {found.head[0]} to {found.head[1]}.")
    told = [message.text for message in facts.main.current() if message.role == "user"]
    lines = [line for line in lines if not any(line in text for text in told)]
    return Prompted(kind="note", text=" ".join(["The run rested meanwhile.", *lines])) if lines else None
