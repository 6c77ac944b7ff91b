"""Plan the merge of a worktree's changes with files that changed in the run's tree meanwhile."""

from __future__ import annotations

import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ...gate.change.merge import merge_states
from ...workspace.files.states import stored_state
from ...workspace.snapshots.restore import FileVersion, same_content

if TYPE_CHECKING:
    from ...workspace.snapshots.snapshots import Change


@dataclass(frozen=True, slots=True)
class Merged:
    """A file that both sides changed."""

    data: bytes
    mode: int
    """Permission bits."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a merge writes into the run's tree."""

    files: list[str] = field(default_factory=list[str])
    """Paths of all files to write."""
    merged: dict[str, Merged] = field(default_factory=dict[str, Merged])
    """The files among them that both sides changed, by path."""
    conflicts: list[str] = field(default_factory=list[str])
    """A line for each conflict."""


def plan_merge(
    changes: Sequence[Change], base: Mapping[str, FileVersion | None], now: Mapping[str, FileVersion | None]
) -> Plan:
    """Plan a merge by file, and by line where both sides changed a text.

    `changes`: from `base` to the worktree. `base`: the files with which the worktree started. `now`: the files of the
    run's tree.
    """
    plan = Plan()
    for change in changes:
        found = _merge(change, base.get(change.path), now.get(change.path))
        if isinstance(found, str):
            plan.conflicts.append(f"{change.path}: {found}")
            continue
        if found is not None:
            plan.merged[change.path] = found
        elif _is_there(change, now.get(change.path)):
            continue
        plan.files.append(change.path)
    return plan


def _merge(change: Change, base: FileVersion | None, now: FileVersion | None) -> Merged | str | None:
    """Return the merged file, why it cannot be merged, or None if the worktree's file is the result."""
    if change.kind == "large":
        return "it is too large for a snapshot"
    if _same(base, now) or _is_there(change, now):
        return None
    if now is None:
        return "it was removed from the run's tree"
    if change.before is None:
        return "it was created in the run's tree too"
    if change.after is None:
        return "it changed in the run's tree, and the item removed it"
    sides = (change.before_mode, change.after_mode, now.mode)
    if not all(mode is not None and stat.S_ISREG(mode) for mode in sides):
        return "a link changed on both sides"
    mode = stat.S_IMODE((now.mode if change.after_mode == change.before_mode else change.after_mode) or 0)
    path, current = Path(change.path), now.load()
    merged = merge_states(stored_state(path, path, change.before), stored_state(path, path, current), change.after)
    if merged is None:
        return "it is not text, and both sides changed it"
    data, overlaps = merged
    return f"{overlaps} of its changes overlap with changes in the run's tree" if overlaps else Merged(data, mode)


def _same(base: FileVersion | None, now: FileVersion | None) -> bool:
    if base is None or now is None:
        return base is now
    return same_content(base, now) and base.mode == now.mode


def _is_there(change: Change, now: FileVersion | None) -> bool:
    """Return whether the run's tree already has the worktree's version of the file."""
    if now is None or change.after is None:
        return now is None and change.after is None
    return now.mode == change.after_mode and now.load() == change.after
