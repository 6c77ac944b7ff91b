"""Find the changes of a pass that rundry cannot prove to be writes of its own tools (docs/decisions/0036).

In the user's folder, such a change can be the user's own work: it is never rolled back and never committed.
"""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ...workspace.snapshots.objects import LINK

if TYPE_CHECKING:
    from ...facts.logs.change_log import FileEffect, RecordedChange
    from ...workspace.snapshots.snapshots import Change
    from .pass_repository import RepositoryChange

_NAMED = 10
"""Maximum number of changes that the reason of a hand-off names."""


def edits_by_file(changes: Iterable[RecordedChange]) -> dict[str, list[FileEffect | None]]:
    """Map each changed file to the effects of the tools' edits, oldest first; None stands for a command."""
    found: dict[str, list[FileEffect | None]] = {}
    for change in changes:
        for path, effect in change.files.items():
            found.setdefault(path, []).append(effect if change.command is None else None)
    return found


def unproven(changes: Sequence[Change], edits: Mapping[str, Sequence[FileEffect | None]]) -> list[str]:
    """Return the paths of changes that are not exactly what the tools wrote.

    `edits`: for each file the edits of the tools since the pass began. A change is proven if the first edit found
    the content of the start, each later one found what the edit before wrote, and the last one wrote what is there now.
    """
    return [one.path for one in changes if not _is_proven(one, edits.get(one.path, ()))]


def _is_proven(change: Change, edits: Sequence[FileEffect | None]) -> bool:
    if not edits or change.kind in ("large", "mode") or LINK in (change.before_mode, change.after_mode):
        return False
    if change.before_mode is None:
        runs = change.after_mode is not None and bool(stat.S_IMODE(change.after_mode) & 0o111)
        if runs:  # no tool makes a new file executable
            return False
    elif change.after_mode not in (None, change.before_mode):
        return False
    expected = _digest(change.before)
    for edit in edits:
        if edit is None or edit.before != expected:
            return False
        expected = edit.after
    return expected == _digest(change.after)


def _digest(data: bytes | None) -> str | None:
    return None if data is None else hashlib.sha256(data).hexdigest()


def unproven_in_git(moved: RepositoryChange | None) -> list[str]:
    """Return a line for each change of the repository: the user may have made it."""
    if moved is None:
        return []
    return moved.history or ["the git index or the settings of the repository"]


def why_undecided(lines: Sequence[str]) -> str:
    """Return the reason of a hand-off that names these changes."""
    more = f" and {len(lines) - _NAMED} more" if len(lines) > _NAMED else ""
    named = ", ".join(lines[:_NAMED])
    return f"no tool of this run wrote these changes, so they stay and are yours to decide: {named}{more}"
