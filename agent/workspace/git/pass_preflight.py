"""Check whether a pass can start in the user's repository."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .repository import Repository

_MOST_NAMED = 5
"""Maximum number of changed files that the message names."""


async def why_no_pass(
    found: Repository | None, folder: Path, protected: Sequence[str], *, is_clean: bool = True
) -> str | None:
    """Return why no pass can start in this working tree, with the fix; None: one can.

    `is_clean`: whether a pass needs a clean tree. One in a layer does not.
    """
    if found is None:
        return (
            f"{folder} is not in a git repository: a pass must start from a clean commit (`git init` and commit first)"
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
    dirt = await found.dirty_paths() if is_clean else []
    if dirt:
        return f"the working tree is dirty ({_named(dirt)}): commit or stash first, or use --worktree"
    return None


async def ignored_paths(found: Repository, folder: Path) -> list[str]:
    """Return the paths in the folder that git ignores; a folder ends with `/` and stands for its content.

    Raises GitFailed.
    """
    argv = ["ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"]
    listed = await found.at(folder).run_checked(*argv)
    return sorted(os.fsdecode(path) for path in listed.out.split(b"\0") if path)


def _named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _MOST_NAMED} more" if len(paths) > _MOST_NAMED else ""
    return ", ".join(paths[:_MOST_NAMED]) + more
