"""Events about the places in which a migration works its files: each works one at a time."""

from __future__ import annotations

from .base import EventBase
from .tries import is_try

_PREFIX = "tree:"


class WorktreeStarted(EventBase, frozen=True, kw_only=True):
    """Work on an item starts in a layer or copy of the run's tree. Its events have the work `tree:N:KEY`."""

    tree: int
    """Number of the place, from 1."""
    key: str
    """Key of the item."""
    place: str
    """The folder of the layer or copy."""
    layer: bool = False
    """False means that an older version worked it in a git worktree."""


class JoinStarted(EventBase, frozen=True, kw_only=True):
    """The changes of an item are merged with the run's tree. From here on they are applied, whatever is killed."""

    tree: int
    key: str
    files: list[str]
    order: str = ""
    """The order that applies them, as in `effects_accepted`."""
    merged: list[str] = []
    """As in `join_finished`."""
    left: list[str] = []
    """As in `join_finished`."""
    world: str = ""
    """In journals of older versions: the snapshot that contains the merged files."""
    base: str = ""
    """In journals of older versions: the snapshot of the run's tree before the files are written."""


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
    left: list[str] = []
    """A line for each change that was not merged, because nobody approved it."""


class WorktreeFinished(EventBase, frozen=True, kw_only=True):
    """A worktree ends its work on an item."""

    tree: int
    key: str
    why: str
    """How it ended, for people."""
    patch: str | None = None
    """Blob of a patch of the changes that were not merged, or None if there are none."""


def item_tree_name(tree: int, key: str) -> str:
    """Return the `work` name of an item in a worktree."""
    return f"{_PREFIX}{tree}:{key}"


def tree_and_key(work: str | None) -> tuple[int, str] | None:
    """Return the number of the worktree and the key of the item.

    Returns None if this is not the work of an item's worktree.
    """
    if work is None or not work.startswith(_PREFIX):
        return None
    tree, _, key = work.removeprefix(_PREFIX).partition(":")
    return int(tree), key


def has_own_tree(work: str | None) -> bool:
    """Return whether events with this `work` are about files of a worktree, not about those of the run's tree."""
    return work is not None and (is_try(work) or work.startswith(_PREFIX))


WorktreesEvent = WorktreeStarted | JoinStarted | JoinFinished | WorktreeFinished
"""The events of this module."""
