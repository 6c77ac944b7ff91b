"""Commit one changed file in the user's working tree, without the user's staged and other changes."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from ..own_temp import temp_folder
from .repository import GitFailed, Hooks, Repository

_OPERATIONS = {
    "index.lock": "another git process is running",
    "MERGE_HEAD": "a merge is in progress",
    "CHERRY_PICK_HEAD": "a cherry-pick is in progress",
    "REVERT_HEAD": "a revert is in progress",
    "rebase-merge": "a rebase is in progress",
    "rebase-apply": "a rebase is in progress",
}
"""Files in the git folder during an operation, and the reason that the user reads."""


class SharedRepository(Repository):
    """A repository in which the user works at the same time."""

    async def why_no_commit(self) -> str | None:
        """Return why rundry cannot commit now; None: it can."""
        folder = Path(os.fsdecode((await self.run_checked("rev-parse", "--absolute-git-dir")).out.rstrip(b"\n")))
        busy = next((why for name, why in _OPERATIONS.items() if (folder / name).exists()), None)
        if busy is not None:
            return f"git is in use: {busy}"
        if await self.branch() is None:
            return "HEAD is not on a branch (detached)"
        return None if await self.head() is not None else "the branch has no commit yet"

    async def commit_file(
        self, path: str, was: Collection[bytes | None], message: str, hooks: Hooks | None = None
    ) -> str | None:
        """Commit only this file as it is on the disk. Return the id of the commit; None: there was nothing to commit.

        `was`: contents that the file may have in the last commit; None in it: no file. Raises GitFailed, also if the
        last commit or the index has other content.
        """
        await self._refuse_filters([path])
        await self._check_clean(path, was)
        with temp_folder("index") as folder:
            separate = self.with_index(folder / "index")
            await separate.run_checked("read-tree", "HEAD")
            commit = await separate.commit([path], message, hooks)
        if commit is not None:
            await self.unstage([path])
        return commit

    async def _check_clean(self, path: str, was: Collection[bytes | None]) -> None:
        head = await self.run("rev-parse", "--verify", "--quiet", f"HEAD:./{path}")
        known = head.line if head.code == 0 else None
        if known not in [await self._id_of(path, data) for data in was]:
            raise GitFailed(f"{path} had uncommitted changes before the model changed it")
        if (await self.run("diff-index", "--cached", "--quiet", "HEAD", "--", path)).code != 0:
            raise GitFailed(f"{path} is staged")

    async def _id_of(self, path: str, data: bytes | None) -> str | None:
        if data is None:
            return None
        return (await self.run_checked("hash-object", "--stdin", "--path", path, stdin=data)).line
