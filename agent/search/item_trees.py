"""The interfaces of the worktrees in which the items of a migration are worked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ..step.resources.run_context import RunContext


class TreeFailed(Exception):
    """A worktree cannot be made or updated. The text says why."""


class ItemTree(Protocol):
    """A worktree that is assigned to one item."""

    @property
    def ctx(self) -> RunContext:
        """Return the context for work in this worktree."""
        ...

    @property
    def work(self) -> str:
        """Name of the work in it, for the events of the item's steps."""
        ...

    async def merge(self) -> Sequence[str]:
        """Merge the changes with the run's tree. Returns one line for each conflict; then nothing was written.

        Raises TreeFailed.
        """
        ...

    async def reset(self) -> None:
        """Drop the changes: make the files those of the run's tree. Raises TreeFailed."""
        ...

    async def release(self, why: str) -> None:
        """End the work on the item and free the worktree. `why`: how the work ended, for people."""
        ...


class ItemTrees(Protocol):
    """The worktrees of a migration."""

    async def acquire(self, key: str, path: str, work: str | None) -> ItemTree:
        """Wait for a free worktree and give it the files of the run's tree. `path`: the item's file, for people.

        `work`: name of the item's work. Raises PersonInterrupted, TreeFailed.
        """
        ...

    async def close(self) -> None:
        """Remove the worktrees."""
        ...
