"""Describe in words what a repository gains."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ...protocol.text.counts import first_names, plural
from ...protocol.text.path_text import quoted_path
from .apply_git_rows import name_of
from .git_rows import Commits, GitChanges, HeadRow, IndexRow, RefRow, StashRow, StateRow
from .read_git_changes import operation

_MOST_NAMED, _MOST_PATHS = 3, 8
_SHORT = 7
"""Digits of a commit's name."""


def git_lines(changes: GitChanges) -> list[str]:
    """Return a line for each change (`main: 2 commits`), and the first lines of new commits below it, indented."""
    found = list[str]()
    for row in changes.rows:
        if isinstance(row, RefRow):
            found += _of_ref(row, changes.commits.get(row.name))
        elif isinstance(row, HeadRow) and row.before != row.after:
            told = None if row.tree else changes.commits.get("HEAD")
            found += [_of_head(row), *_subjects(told)]
        elif isinstance(row, StateRow):
            found += _of_state(row)
    return [*found, *_of_stash(changes), *_of_index(changes), *_of_others(changes)]


def repository_of(changes: GitChanges, workspace: Path) -> str:
    """Return the folder of the workspace in which the repository is, or the name of the submodule.

    Empty means neither.
    """
    common = Path(os.fsdecode(changes.common))
    if common.is_relative_to(workspace):
        inside = common.relative_to(workspace).as_posix()
    else:
        inside = common.as_posix().partition("/.git/")[2]
    module = f"/{inside}".partition("/modules/")[2]
    return module.replace("/modules/", "/") or inside.removesuffix(".git").rstrip("/")


def names_of(changes: GitChanges) -> list[str]:
    """Return what changes in a repository. Some rows are there only because others need that part as it is."""
    rows = (row for row in changes.rows if not isinstance(row, HeadRow | StateRow) or row.before != row.after)
    return list(dict.fromkeys(name_of(row) for row in rows))


def _of_ref(row: RefRow, told: Commits | None) -> Iterator[str]:
    kind, _, name = row.name.removeprefix("refs/").partition("/")
    is_branch = kind == "heads"
    shown = quoted_path(name if is_branch or kind == "remotes" else f"{kind.removesuffix('s')} {name}")
    if not row.after:
        yield f"{shown}: deleted"
        return
    if not row.before:
        count = f", {plural(told.gained, 'commit')}" if told is not None and told.gained else ""
        yield f"{shown}: new{' branch' if is_branch else ''}{count}"
    elif told is None:
        yield f"{shown}: {row.before[:_SHORT]} → {row.after[:_SHORT]}"
    elif not told.gained:
        yield f"{shown}: goes back by {plural(told.lost, 'commit')}"
    else:
        yield f"{shown}: {plural(told.gained, 'commit')}{f', {told.lost} dropped' if told.lost else ''}"
    yield from _subjects(told)


def _subjects(told: Commits | None) -> Iterator[str]:
    if told is not None:
        yield from (f"  {subject}" for subject in told.subjects)
        if told.gained > len(told.subjects) > 0:
            yield f"  and {told.gained - len(told.subjects):,} more"
        if told.paths:
            yield f"  changes {first_names([quoted_path(os.fsdecode(path)) for path in told.paths], _MOST_PATHS)}"


def _of_head(row: HeadRow) -> str:
    return f"HEAD: {_head(row.before)} → {_head(row.after)}"


def _head(value: str) -> str:
    return quoted_path(value.removeprefix("ref: refs/heads/")) if value.startswith("ref: ") else value[:_SHORT]


def _of_state(row: StateRow) -> list[str]:
    if row.before == row.after:
        return []
    if row.what:
        return [f"{row.what} in progress"]
    begun = operation(row.before)
    if begun:
        return [f"{begun} ends"]
    names = {*row.before, *row.after}
    return [first_names(sorted(one for one in names if row.before.get(one) != row.after.get(one)), _MOST_NAMED)]


def _of_stash(changes: GitChanges) -> list[str]:
    rows = [row for row in changes.rows if isinstance(row, StashRow)]
    new, gone = sum(row.is_new for row in rows), sum(not row.is_new for row in rows)
    words = [plural(new, "new entry") if new else "", f"{plural(gone, 'entry')} dropped" if gone else ""]
    return [f"stash: {', '.join(word for word in words if word)}"] if rows else []


def _of_index(changes: GitChanges) -> list[str]:
    paths = list(dict.fromkeys(os.fsdecode(row.path) for row in changes.rows if isinstance(row, IndexRow)))
    if not paths:
        return []
    return [f"index: {first_names([*map(quoted_path, paths)], _MOST_NAMED)}"]


def _of_others(changes: GitChanges) -> list[str]:
    """Name the files of new commits that the command did not stage, such as those that the user had staged."""
    staged = {row.path for row in changes.rows if isinstance(row, IndexRow)}
    others = dict.fromkeys(path for told in changes.commits.values() for path in told.paths if path not in staged)
    if not others:
        return []
    return [f"also in new commits: {first_names([quoted_path(os.fsdecode(path)) for path in others], _MOST_NAMED)}"]
