"""Distinguish the commits of runs from those of the user: what the user committed counts as decided."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ...layers.git.git_rows import GitChanges, HeadRow, RefRow
from ...layers.git.layer_git_folders import git_folders_of
from ...layers.present import Present
from ...repo.real_git import RealGit, RealGitFailed
from ...repo.repository import repository_top

if TYPE_CHECKING:
    from ...layers.layer_effects import Side
    from ...state.facts.run_facts import RunFacts
    from .workspace_ledger import Noted, UndecidedChange


def head_of(workspace: Path) -> str:
    """Return the commit of HEAD, or empty if there is none."""
    git = _git(workspace)
    return "" if git is None else _line(git, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")


def commits_of_run(facts: RunFacts, changes: Iterable[GitChanges], workspace: Path) -> frozenset[str]:
    """Return the commits that a run made. `changes`: what its commands changed in repositories."""
    git, found = _git(workspace), {*facts.changes.unrecorded.commits}
    if git is None:
        return frozenset(found)
    for row in (row for one in changes for row in one.rows):
        if not isinstance(row, RefRow | HeadRow) or row.after.startswith("ref: ") or not row.after:
            continue
        old = [f"^{row.before}"] if row.before and not row.before.startswith("ref: ") else ["--not", "--branches"]
        found.add(row.after)
        found |= {*_line(git, "rev-list", row.after, *old).split()}
    return frozenset(found)


def without_committed(noted: Noted, workspace: Path) -> Noted:
    """Return the ledger without the files that the user committed since as they are now."""
    git, top = _git(workspace), repository_top(workspace)
    head = "" if git is None else _line(git, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if git is None or top is None or not head or all(entry.head == head for entry in noted.entries):
        return noted
    prefix = workspace.relative_to(top).as_posix()
    now = dict(Present(workspace).sides([entry.path for entry in noted.entries]))

    def is_open(entry: UndecidedChange) -> bool:
        path = entry.path if prefix == "." else f"{prefix}/{entry.path}"
        since = [head, *([f"^{entry.head}"] if entry.head else [])]
        newest = _line(git, "--literal-pathspecs", "rev-list", "--max-count=1", *since, "--", path)
        is_users = bool(newest) and newest not in noted.commits
        return not is_users or not _is_in(git, head, path, now[entry.path])

    return noted._replace(entries=tuple(entry for entry in noted.entries if entry.head == head or is_open(entry)))


def _is_in(git: RealGit, commit: str, path: str, side: Side | None) -> bool:
    """Return whether a commit has a path as it is."""
    try:
        data = git.run("cat-file", "blob", f"{commit}:{path}")
    except RealGitFailed:
        return side is None
    return side is not None and hashlib.sha256(data).hexdigest() == side.digest


def _git(workspace: Path) -> RealGit | None:
    folders = git_folders_of(workspace)
    return None if folders is None else RealGit(folders, workspace)


def _line(git: RealGit, *words: str) -> str:
    """Return the output of git, or empty if it failed."""
    try:
        return git.run(*words).decode().strip()
    except RealGitFailed:
        return ""
