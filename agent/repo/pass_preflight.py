"""Check whether a pass can start in the user's repository."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .repository import Repository


async def why_no_pass(found: Repository | None, folder: Path, protected: Sequence[str]) -> str | None:
    """Return why no pass that commits can start in this working tree, with the fix, or None if one can."""
    if found is None:
        return (
            f"{folder} is not in a git repository: a pass is committed on top of a commit (`git init` and commit first)"
        )
    branch = await found.branch()
    busy = await found.operation()
    if busy is not None:
        return f"{busy} is in progress: finish or abort it first"
    if branch is None:
        return "HEAD is not on a branch (detached), so a pass's commits would be lost: run `git switch -c NAME` first"
    if branch in protected:
        return (
            f"the branch `{branch}` is protected: `git switch -c NAME` first, or use --worktree"
            " (--protected names other branches, or none)"
        )
    if await found.head() is None:
        return f"the branch `{branch}` has no commit yet: commit once first"
    return None
