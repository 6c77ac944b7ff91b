"""A commit of one changed file beside the person's own work: what they staged or changed themselves stays theirs."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from ..own_temp import temp_folder
from .repository import AroundCommit, GitFailed, Repository

_UNDER_WAY = {
    "index.lock": "another git works in it",
    "MERGE_HEAD": "a merge is under way",
    "CHERRY_PICK_HEAD": "a cherry-pick is under way",
    "REVERT_HEAD": "a revert is under way",
    "rebase-merge": "a rebase is under way",
    "rebase-apply": "a rebase is under way",
}
"""What stands in git's folder then."""


class SharedRepository(Repository):
    """The repository that the person works in at the same time."""

    async def why_not(self) -> str | None:
        """Why nothing may be committed now; None: it may."""
        folder = Path(os.fsdecode((await self.must("rev-parse", "--absolute-git-dir")).out.rstrip(b"\n")))
        busy = next((why for name, why in _UNDER_WAY.items() if (folder / name).exists()), None)
        if busy is not None:
            return f"git is in use: {busy}"
        if await self.branch() is None:
            return "HEAD stands on no branch (detached)"
        return None if await self.head() is not None else "the branch has no commit yet"

    async def commit_one(
        self, path: str, was: Collection[bytes | None], message: str, hooks: AroundCommit | None = None
    ) -> str | None:
        """Commits that file as it is on the disk, and nothing else; the commit's id. None: there is nothing to commit.

        `was`: contents that it had without anyone's own change; None: no file. Raises GitFailed, also where the last
        commit or the index holds something else.
        """
        await self._refuse_filters([path])
        await self._check_clean(path, was)
        with temp_folder("index") as folder:
            beside = self.with_index(folder / "index")
            await beside.must("read-tree", "HEAD")
            commit = await beside.commit([path], message, hooks)
        if commit is not None:
            await self.forget_staged([path])
        return commit

    async def _check_clean(self, path: str, was: Collection[bytes | None]) -> None:
        head = await self.ask("rev-parse", "--verify", "--quiet", f"HEAD:./{path}")
        known = head.line if head.code == 0 else None
        if known not in [await self._id_of(path, data) for data in was]:
            raise GitFailed(f"{path} held changes that are in no commit before the model changed it")
        if (await self.ask("diff-index", "--cached", "--quiet", "HEAD", "--", path)).code != 0:
            raise GitFailed(f"{path} is staged")

    async def _id_of(self, path: str, data: bytes | None) -> str | None:
        if data is None:
            return None
        return (await self.must("hash-object", "--stdin", "--path", path, stdin=data)).line
