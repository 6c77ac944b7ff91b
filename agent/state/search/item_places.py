"""State of the places in which the items of a migration are worked."""

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
    _old: dict[str, str] = field(default_factory=dict[str, str])
    """Key of an item to its git worktree, which an older version used."""
    _layers: dict[str, WorktreeStarted] = field(default_factory=dict[str, WorktreeStarted])
    joins: dict[str, JoinStarted] = field(default_factory=dict[str, JoinStarted])
    """Key of an item to its merge that has not finished."""

    @property
    def old_places(self) -> list[str]:
        """The git worktrees of items whose runner died, in an older version."""
        return [*self._old.values()]

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
                    self._layers[key] = event
                else:
                    self._old[key] = event.place
            case WorktreeFinished(key=key):
                self._old.pop(key, None)
                self.trees.pop(key, None)
                self._layers.pop(key, None)
                self.left = [one for one in self.left if one.key != key]
            case JoinStarted(key=key):
                self.joins[key] = event
            case JoinFinished(key=key):
                self.joins.pop(key, None)
