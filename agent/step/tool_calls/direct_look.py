"""Look at the workspace before something writes to it itself."""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from ...layers.direct_comparison import PathEntry, Tree, bytes_of, read_tree
from ...layers.git.git_rows import TODO_FILES, commands_of_rebase
from ...layers.git_contents import GitContents
from ...layers.open_below import FOLDER
from ...layers.workspace_copies import and_above, differing_paths
from ...repo.protected_places import protected, read_by_git
from ...sandbox.visible_programs import program_places

if TYPE_CHECKING:
    from ...host.workspace_paths import Workspace
    from ...layers.start_copy import StartCopy
    from ...sandbox.sandbox import Sandbox
    from .changed_in_place import ChangedInPlace

_OWN = ".git/rundry"
WHOLE = frozenset({""})
"""All of the workspace."""
_TODO = tuple(os.fsencode(f"rebase-merge/{name}") for name in TODO_FILES)
_LARGEST = 1_000_000
_MOST_CHANGED = 1_000
"""Files of which the contents are read because they differ from those of the start."""
_MOST_BYTES = 32_000_000
"""Bytes of all files whose contents are kept for one comparison."""


class Before(NamedTuple):
    """A workspace before something writes to it."""

    tree: Tree
    git: GitContents
    only: frozenset[str]
    """The folders that are compared."""
    skipped: frozenset[str] = frozenset()
    """rundry's own places, which are not compared."""
    hidden: tuple[bytes, ...] = ()
    """What commands must not read, each with a slash: it is compared, but no content of it is stored."""
    commands: frozenset[str] = frozenset()
    """What `git rebase --continue` would execute."""
    contents: Mapping[str, bytes] = {}
    """The small files and links that git or a tool runs or reads by itself, and that a command may overwrite."""
    at: float = 0.0
    """When the look began, in Unix seconds."""
    earlier: ChangedInPlace | None = None
    """What background commands had changed until then, and nobody decided about."""

    def is_hidden(self, path: bytes) -> bool:
        """Return whether commands must not read a path."""
        return (path + b"/").startswith(self.hidden)


async def look(
    ws: Workspace,
    sandbox: Sandbox,
    written: Collection[str] = (),
    *,
    only: frozenset[str] = WHOLE,
    settled: bool = False,
) -> Before:
    """Return the workspace as it is now.

    `written`: files whose bytes are read. `only`: the folders that are read. `settled`: see `read_tree`.
    """
    return await asyncio.to_thread(_look, ws, sandbox, written, only, settled)


def _look(ws: Workspace, sandbox: Sandbox, written: Collection[str], only: frozenset[str], settled: bool) -> Before:
    at = time.time()
    skipped, hidden = _places(ws, sandbox)
    git = GitContents(ws.seen)
    try:
        tree = read_tree(ws.root, only=only, skipped=skipped, digested=written, settled=settled)
        before = Before(tree, git, only, skipped, hidden, at=at)
        return before._replace(commands=todo_commands(ws, tree.entries), contents=_contents(ws, before))
    except OSError:  # the workspace is gone
        return Before(Tree({}, [], []), git, only, skipped, hidden, at=at)


def _places(ws: Workspace, sandbox: Sandbox) -> tuple[frozenset[str], tuple[bytes, ...]]:
    """Return rundry's own places and those that the sandbox hides, relative to the workspace."""
    own, hidden = {_OWN, *_relative(ws, ws.private)}, set[str]()
    for place in {*ws.hidden, *sandbox.hidden_below(ws.root)}:
        is_own = ws.hide_rules is not None and ws.hide_rules.is_own(ws.shown(place), ws.seen)
        (own if is_own or sandbox.kind is None else hidden).update(_relative(ws, [place]))
    return frozenset(own), tuple(os.fsencode(name) + b"/" for name in hidden)


def _relative(ws: Workspace, places: Iterable[Path]) -> Iterator[str]:
    for place in map(ws.at, places):
        if place.is_relative_to(ws.root) and place != ws.root:
            yield place.relative_to(ws.root).as_posix()


def todo_commands(ws: Workspace, paths: Iterable[bytes]) -> frozenset[str]:
    """Return the commands in those of these files that are the todo list of a rebase. Raises OSError."""
    found = [path for path in paths if path.endswith(_TODO)]
    if not found:
        return frozenset()
    root = os.open(ws.root, FOLDER | os.O_CLOEXEC)
    try:
        texts = [bytes_of(root, path, _MOST_BYTES) or b"" for path in found]
    finally:
        os.close(root)
    return frozenset(command for text in texts for command in commands_of_rebase(text))


async def with_changed_since(ws: Workspace, before: Before, start: StartCopy, outputs: Collection[str]) -> Before:
    """Add the contents of files that differ from those of the start: the user may have changed them meanwhile.

    Leaves out output, and files that a view restores in any case. Of many files, only the first ones are read.
    """

    def read() -> Before:
        tops, entries = {os.fsencode(path) for path in outputs}, before.tree.entries
        paths = [
            path
            for path in sorted(differing_paths(start.layer.source, before.tree) & entries.keys())
            if not start.has(path) and tops.isdisjoint(and_above(path)) and os.fsdecode(path) not in before.contents
        ]
        try:
            return before._replace(contents={**before.contents, **_read(ws, before, [paths[:_MOST_CHANGED]])})
        except OSError:  # the workspace is gone
            return before

    return await asyncio.to_thread(read)


def _contents(ws: Workspace, before: Before) -> dict[str, bytes]:
    """Return what git or a tool runs by itself, the programs last, and note the digests. Raises OSError."""
    entries = before.tree.entries
    git = [path for path in entries if path == b".git" or path.endswith(b"/.git")]
    files = [ws.root / os.fsdecode(path) for path in git if entries[path].side.type != "folder"]
    settings = [place for path in git for place in read_by_git(ws.root / os.fsdecode(path))]
    paths = list[list[bytes]]()
    for places in ([*protected(ws.root), *files, *settings], program_places(ws.root)):
        names = tuple(os.fsencode(name) + b"/" for name in _relative(ws, places))
        paths.append([path for path in entries if (path + b"/").startswith(names)])
    return _read(ws, before, paths)


def _read(ws: Workspace, before: Before, paths: Iterable[Iterable[bytes]]) -> dict[str, bytes]:
    """Return the contents of small files, and note their digests. Raises OSError."""
    entries, found, left = before.tree.entries, dict[str, bytes](), _MOST_BYTES
    changed = dict[bytes, PathEntry]()
    root = os.open(ws.root, FOLDER | os.O_CLOEXEC)
    try:
        for some in paths:
            for path in some:
                entry = entries[path]
                is_small = entry.side.type != "folder" and entry.side.size <= min(_LARGEST, left)
                if not is_small or before.is_hidden(path):
                    continue
                if (data := bytes_of(root, path, _LARGEST)) is not None:
                    found[os.fsdecode(path)] = data
                    changed[path] = entry._replace(side=replace(entry.side, digest=hashlib.sha256(data).hexdigest()))
                    left -= len(data)
    finally:
        os.close(root)
    entries.update(changed)
    return found
