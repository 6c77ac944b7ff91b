"""State of the worktrees of a migration with `--parallel`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import get_args

from ...protocol import Event, JoinFinished, JoinStarted, WorktreeFinished, WorktreeStarted

WorktreeEvent = WorktreeStarted | WorktreeFinished | JoinStarted | JoinFinished
WORKTREE_EVENTS: frozenset[type[Event]] = frozenset(get_args(WorktreeEvent))


@dataclass(slots=True)
class WorktreeFacts:
    """Which worktree works which item, and which merges have not finished."""

    trees: dict[str, int] = field(default_factory=dict[str, int])
    """Key of an item to the number of the worktree that works it."""
    joins: dict[str, JoinStarted] = field(default_factory=dict[str, JoinStarted])
    """Key of an item to its merge that has not finished."""

    def apply(self, event: WorktreeEvent) -> None:
        """Fold the next event into this state."""
        match event:
            case WorktreeStarted(key=key, tree=tree):
                self.trees[key] = tree
            case WorktreeFinished(key=key):
                self.trees.pop(key, None)
            case JoinStarted(key=key):
                self.joins[key] = event
            case JoinFinished(key=key):
                self.joins.pop(key, None)
