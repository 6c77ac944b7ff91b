"""Revert some changes of a repository in a layer. The workspace itself is not changed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ..judge_view_files import Past
from .git_in_layer import InsideFailed, InsideGit
from .git_rows import GitChanges, HeadRow, IndexRow, RefRow, StashRow, StateRow

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..layer import Layer
    from .git_in_layer import Inside

_STASH = "refs/stash"


def git_past(changes: Sequence[GitChanges], workspace: Path) -> dict[str, Past | None]:
    """Return what of these inverse rows are files: those of an operation, and the stash, by path in the workspace.

    Raises InsideFailed for a git folder outside of the workspace, in which a layer cannot have a past.
    """
    past = dict[str, Past | None]()
    for one in changes:
        common = Path(os.fsdecode(one.common))
        for row in one.rows:
            if isinstance(row, StateRow):
                for name in {*row.before, *row.after}:
                    data = row.after.get(name)
                    past[_path(common / row.tree / name, workspace)] = None if data is None else Past(data=data)
        if stash := [row for row in one.rows if isinstance(row, StashRow)]:
            past |= _stash_past(common, stash, workspace)
    return past


def _stash_past(common: Path, rows: Sequence[StashRow], workspace: Path) -> Mapping[str, Past | None]:
    """Return the stash without entries that were made, and with those that were dropped."""
    log = b""
    with suppress(FileNotFoundError):
        log = (common / "logs" / _STASH).read_bytes()
    lines = [line.split(" ", 2) for line in log.decode("utf-8", "surrogateescape").splitlines()]
    found = [(line[1], line[2]) for line in lines if len(line) == 3]
    for row in rows:
        if row.is_new:
            found.append((row.commit, f"{row.who}\t{row.message}"))
        else:
            found = [entry for entry in found if entry[0] != row.commit]
    places = [_path(common / name, workspace) for name in (_STASH, f"logs/{_STASH}")]
    if not found:
        return dict.fromkeys(places)
    before, text = "0" * len(found[0][0]), ""
    for commit, rest in found:
        text, before = f"{text}{before} {commit} {rest}\n", commit
    contents = (f"{before}\n", text)
    return {
        place: Past(data=data.encode("utf-8", "surrogateescape")) for place, data in zip(places, contents, strict=True)
    }


def _path(file: Path, workspace: Path) -> str:
    if not file.is_relative_to(workspace):
        raise InsideFailed(f"the git folder {file.parent} lies outside of the workspace")
    return str(file.relative_to(workspace))


def take_back(layer: Layer, inside: Inside, changes: Sequence[GitChanges]) -> None:
    """Carry inverse rows of branches, HEAD and the index out in a mounted layer. Raises InsideFailed."""
    for one in changes:
        common = Path(os.fsdecode(one.common))
        for tree in dict.fromkeys(row.tree for row in one.rows):
            rows = [row for row in one.rows if row.tree == tree]
            git = InsideGit(inside, common / tree if tree else common, layer)
            if index := b"".join(_index_lines(row) for row in rows if isinstance(row, IndexRow)):
                git.run(("update-index", "-z", "--index-info"), index)
            refs = [row for row in rows if isinstance(row, RefRow)]
            for some in ([row for row in refs if not row.after], [row for row in refs if row.after]):
                if some:  # git makes `a` only when `a/b` is gone
                    lines = b"".join(map(_ref_line, some))
                    git.run(("update-ref", "--no-deref", "-z", "--stdin"), lines)
            for head in (row for row in rows if isinstance(row, HeadRow) and row.before != row.after):
                name = head.after.removeprefix("ref: ")
                is_branch = head.after.startswith("ref: ")
                words = ("symbolic-ref", "HEAD", name) if is_branch else ("update-ref", "--no-deref", "HEAD", name)
                git.run(words, b"")


def _index_lines(row: IndexRow) -> bytes:
    size = max((len(one.id) for one in (*row.before, *row.after)), default=40)
    gone = b"0 %s\t%s\0" % (b"0" * size, row.path)
    return gone + b"".join(f"{one.mode} {one.id} {one.stage}\t".encode() + row.path + b"\0" for one in row.after)


def _ref_line(row: RefRow) -> bytes:
    name = row.name.encode("utf-8", "surrogateescape")
    return b"update %s\0%s\0\0" % (name, row.after.encode()) if row.after else b"delete %s\0\0" % name
