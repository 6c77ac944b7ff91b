"""Read which files each row of git changes, and with which content, so that it can be decided on like its files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ...layers.git.git_rows import GitChanges, GitRow, HeadRow, IndexRow, RefRow
from ...layers.git.layer_git_folders import git_folders_of
from ...layers.git_contents import read_blobs
from ...repo.real_git import RealGit, RealGitFailed
from ...repo.repository import repository_top
from .decided import RepositoryChange

_BRANCH = "ref: "
_SUBMODULE = "160000"
_AT_ONCE = 100
"""Number of blobs that are in memory at the same time."""
_Ids = Mapping[str, str | None]
"""Path below the top of the working tree to the id of its new blob, or None if it is deleted."""


def repository_changes(workspace: Path, changes: Sequence[GitChanges]) -> list[RepositoryChange]:
    """Return the changes of repositories with the files of each row. Files that cannot be read are unknown."""
    if not changes:
        return []
    folders, top = git_folders_of(workspace), repository_top(workspace)
    if folders is None or top is None:
        return [RepositoryChange(one, [None] * len(one.rows)) for one in changes]
    git, tree = RealGit(folders, workspace), folders.own.relative_to(folders.common).as_posix()
    reading = _Reading(git, "" if tree == "." else tree)
    found = list[RepositoryChange]()
    for one in changes:
        is_here = Path(os.fsdecode(one.common)) == folders.common
        ids = [reading.ids(row, one.rows) if is_here else None for row in one.rows]
        found.append(RepositoryChange(one, _with_contents(git, ids, workspace, top)))
    return found


class _Reading(NamedTuple):
    git: RealGit
    tree: str
    """The working tree of the workspace, as in the rows."""

    def ids(self, row: GitRow, rows: Sequence[GitRow]) -> _Ids | None:
        """Return the files that a row changes, or None if they are not known."""
        try:
            match row:
                case RefRow(after=str(after)) if after:
                    return self._between(row.before or self._base(after), after)
                case HeadRow() if row.tree == self.tree:
                    return self._between(self._commit(row.before, rows, is_new=False), self._commit(row.after, rows))
                case IndexRow() if row.tree == self.tree:
                    return _staged(row)
                case _:
                    return None
        except RealGitFailed:
            return None

    def _base(self, commit: str) -> str:
        return self.git.run("merge-base", "HEAD", f"{commit}^{{commit}}").decode().strip()

    def _commit(self, head: str, rows: Sequence[GitRow], *, is_new: bool = True) -> str:
        """Return the commit of a HEAD at the time of its row."""
        if not head.startswith(_BRANCH):
            return head
        name = head.removeprefix(_BRANCH)
        for row in rows:
            if isinstance(row, RefRow) and row.name == name:
                return row.after if is_new else row.before
        return self.git.run("rev-parse", "--verify", f"{name}^{{commit}}").decode().strip()

    def _between(self, before: str, after: str) -> _Ids | None:
        if not before or not after:
            return None
        listed = self.git.run("diff-tree", "-r", "-z", "--no-renames", f"{before}^{{tree}}", f"{after}^{{tree}}")
        parts, found = listed.split(b"\0"), dict[str, str | None]()
        for line, path in zip(parts[::2], parts[1::2], strict=False):
            _, mode, _, blob, status = line.decode().split(" ")
            if mode == _SUBMODULE:
                return None
            found[os.fsdecode(path)] = None if status == "D" else blob
        return found


def _staged(row: IndexRow) -> _Ids | None:
    if any(one.stage or one.mode == _SUBMODULE for one in row.after):
        return None
    return {os.fsdecode(row.path): row.after[0].id if row.after else None}


def _with_contents(
    git: RealGit, ids: Sequence[_Ids | None], workspace: Path, top: Path
) -> list[Mapping[str, str | None] | None]:
    """Return for each row its paths in the workspace with the SHA-256 of their contents."""
    wanted = {blob for one in ids if one is not None for blob in one.values() if blob is not None}
    try:
        blobs = _digests(git, sorted(wanted))
    except RealGitFailed:
        return [None] * len(ids)
    prefix = workspace.relative_to(top).as_posix()
    prefix = "" if prefix == "." else f"{prefix}/"
    found = list[Mapping[str, str | None] | None]()
    for one in ids:
        paths = dict[str, str | None]()
        for path, blob in (one or {}).items():
            if not path.startswith(prefix) or (blob is not None and blob not in blobs):
                one = None
                break
            paths[path[len(prefix) :]] = None if blob is None else blobs[blob]
        found.append(None if one is None else paths)
    return found


def _digests(git: RealGit, ids: Sequence[str]) -> dict[str, str]:
    """Return the SHA-256 of the content of each of these blobs. Raises RealGitFailed."""
    found = dict[str, str]()
    for at in range(0, len(ids), _AT_ONCE):
        some = read_blobs(git, {*ids[at : at + _AT_ONCE]})
        found |= {name: hashlib.sha256(data).hexdigest() for name, data in some.items()}
    return found
