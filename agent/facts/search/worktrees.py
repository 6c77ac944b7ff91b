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
    left: list[WorktreeStarted] = field(default_factory=list[WorktreeStarted])
    """Items whose runner died while they were worked in a layer, which may still exist."""
    has_layers: bool = False
    """Whether an item was worked in a layer."""
    _layers: dict[str, WorktreeStarted] = field(default_factory=dict[str, WorktreeStarted])
    joins: dict[str, JoinStarted] = field(default_factory=dict[str, JoinStarted])
    """Key of an item to its merge that has not finished."""

    def end_work(self) -> None:
        """Note that the runner of all work that has not ended is gone."""
        self.left += self._layers.values()
        self._layers.clear()
        self.trees.clear()

    def apply(self, event: WorktreeEvent) -> None:
        """Fold the next event into this state."""
        match event:
            case WorktreeStarted(key=key, tree=tree):
                self.trees[key] = tree
                if event.layer:
                    self._layers[key], self.has_layers = event, True
            case WorktreeFinished(key=key):
                self.trees.pop(key, None)
                self._layers.pop(key, None)
                self.left = [one for one in self.left if one.key != key]
            case JoinStarted(key=key):
                self.joins[key] = event
            case JoinFinished(key=key):
                self.joins.pop(key, None)
