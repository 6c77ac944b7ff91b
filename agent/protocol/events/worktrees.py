"""Events about the worktrees of a migration with `--parallel`: each works one file at a time."""

from __future__ import annotations

from .base import EventBase
from .tries import is_try

_PREFIX = "tree:"


class WorktreeStarted(EventBase, frozen=True, kw_only=True):
    """Work on an item starts in a worktree, with the files of the run's tree. Its events have the work `tree:N:KEY`."""

    tree: int
    """Number of the worktree, from 1."""
    key: str
    """Key of the item."""
    place: str
    """Path of the worktree, or the folder of the layer."""
    layer: bool = False
    """The item is worked in a layer."""


class JoinStarted(EventBase, frozen=True, kw_only=True):
    """The changes of an item are merged with the run's tree. They are written next."""

    tree: int
    key: str
    world: str
    """Snapshot that contains the merged files."""
    base: str
    """Snapshot of the run's tree before the files are written."""
    files: list[str]


class JoinFinished(EventBase, frozen=True, kw_only=True):
    """The changes of an item are in the run's tree, or they conflict with it and none was written."""

    tree: int
    key: str
    files: list[str] = []
    """Paths of the written files."""
    merged: list[str] = []
    """The written files that had also changed in the run's tree."""
    conflicts: list[str] = []
    """One line for each conflict. If there is one, nothing was written."""


class WorktreeFinished(EventBase, frozen=True, kw_only=True):
    """A worktree ends its work on an item."""

    tree: int
    key: str
    why: str
    """How it ended, for people."""
    patch: str | None = None
    """Blob of a patch of the changes that were not merged; None: there are none."""


def item_tree_name(tree: int, key: str) -> str:
    """Return the `work` name of an item in a worktree."""
    return f"{_PREFIX}{tree}:{key}"


def tree_and_key(work: str | None) -> tuple[int, str] | None:
    """Return the number of the worktree and the key of the item; None: this is not the work of an item's worktree."""
    if work is None or not work.startswith(_PREFIX):
        return None
    tree, _, key = work.removeprefix(_PREFIX).partition(":")
    return int(tree), key


def has_own_tree(work: str | None) -> bool:
    """Return whether events with this `work` are about files of a worktree, not about those of the run's tree."""
    return work is not None and (is_try(work) or work.startswith(_PREFIX))


WorktreesEvent = WorktreeStarted | JoinStarted | JoinFinished | WorktreeFinished
"""The events of this module."""
