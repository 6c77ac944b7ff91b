"""Look at the workspace before something writes to it itself."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from ...layers.direct import Tree, read_tree
from ...layers.git_contents import GitContents

if TYPE_CHECKING:
    from ...workspace.paths import Workspace

_OWN = ".git/rundry"
WHOLE = frozenset({""})
"""All of the workspace."""


class Before(NamedTuple):
    """A workspace before something writes to it."""

    tree: Tree
    git: GitContents
    only: frozenset[str]
    """The folders that are compared."""


async def look(ws: Workspace, written: Collection[str] = (), *, only: frozenset[str] = WHOLE) -> Before:
    """Return the workspace as it is now. `written`: files whose bytes are read. `only`: the folders that are read."""
    return await asyncio.to_thread(_look, ws, written, only)


def _look(ws: Workspace, written: Collection[str], only: frozenset[str]) -> Before:
    try:
        tree = read_tree(ws.root, only=only, skipped=left_out(ws), digested=written)
    except OSError:  # the workspace is gone
        tree = Tree({}, [], [])
    return Before(tree, GitContents(ws.seen), only)


def left_out(ws: Workspace) -> list[str]:
    """Return rundry's own folders and the hidden ones, relative to the workspace."""
    above = {f"{ws.root}/", f"{ws.seen}/"}
    return [_OWN, *(path.removeprefix(top) for path in ws.skipped for top in above if path.startswith(top))]
