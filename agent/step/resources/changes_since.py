"""Find what changed since a moment, by anybody: files are compared by stat and digest, and nothing is stored."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...host.file_errors import UnreadableFile
from ...host.files.file_states import read_state
from ...host.ignored_files import Ignore
from ...journal.encoding import recorded_text
from ...layers.direct_comparison import Tree, changes, read_tree
from ...layers.layer_effects import IN_MEMORY, TooMuch
from ..tool_calls.file_events import FileContents

if TYPE_CHECKING:
    from ...host.workspace_paths import Workspace
    from ...journal.journal import Journal
    from ...layers.layer import LayerMoment
    from ...layers.layer_effects import Effect
    from ...layers.unit import Unit
    from ...state.facts.standing_changes import Changes


@dataclass(frozen=True, slots=True)
class Moment:
    """The files of the workspace or of a unit of work as they were."""

    root: Path
    """Where they are read."""
    _skipped: Collection[str]
    _tree: Tree
    _unit: Unit | None = None
    """The unit whose files they are. None means those of the workspace."""
    _moment: LayerMoment | None = None

    async def changes(self) -> list[Effect]:
        """Return what changed since, without folders and what is ignored, sorted by path. Raises OSError, TooMuch."""
        return await asyncio.to_thread(self._changes)

    def _changes(self) -> list[Effect]:
        ignore = Ignore(self.root)
        if self._unit is not None and self._moment is not None:
            found = self._unit.effects_since(self._moment)
        else:
            after = read_tree(self.root, skipped=self._skipped, digested=_digested(self._tree), settled=True)
            found = changes(self.root, self._tree, after, reads=lambda path: not ignore.ignored(path))
        return [one for one in found if not _is_folder(one) and not ignore.ignored(one.path)]


async def moment_of(workspace: Workspace, unit: Unit | None, changed: Collection[str]) -> Moment | None:
    """Return the files that the model works on, as they are now, or None if they cannot be read.

    `changed`: the files that the run changed; the journal has their contents.
    """
    if unit is None:
        return await moment_of_workspace(workspace, changed)
    try:
        moment = await asyncio.to_thread(unit.moment)
    except OSError:
        return None
    return Moment(workspace.root, (), Tree({}, [], []), unit, moment)


async def moment_of_workspace(workspace: Workspace, changed: Collection[str]) -> Moment | None:
    """Return the files of the user as they are now, or None if they cannot be read. `changed`: as in `moment_of`."""
    root, known = workspace.seen, [*changed]
    private = (Path(path) for path in workspace.skipped)
    skipped = [".git", *(path.relative_to(root).as_posix() for path in private if path.is_relative_to(root))]
    try:
        tree = await asyncio.to_thread(read_tree, root, skipped=skipped, digested=known)
    except OSError:
        return None
    return Moment(root, skipped, tree)


async def changes_since(moment: Moment | None) -> list[Effect] | None:
    """Return what changed since a moment, or None if it is not known."""
    try:
        return None if moment is None else await moment.changes()
    except (OSError, TooMuch):
        return None


class Seen(NamedTuple):
    """A file that changed."""

    contents: FileContents
    is_known: bool
    """Whether these are its contents. If not, nothing has stored the old one, or it is too large to be read."""


def seen(journal: Journal, changes: Changes, root: Path, change: Effect) -> Seen:
    """Return the contents of a file that changed: the journal has what the run, or a person with a tool, wrote."""
    path, known = recorded_text(change.path), changes.files
    before = after = None
    try:
        if change.before is not None:
            before = journal.blobs.load(change.before.digest or (known[path][0] if path in known else None) or "")
        after = _content(root, change)
    except (KeyError, UnreadableFile, OSError):
        return Seen(FileContents(path, before, after), False)
    return Seen(FileContents(path, before, after), True)


def _content(root: Path, change: Effect) -> bytes | None:
    if change.after is None:
        return None
    if change.after.type == "link":
        return os.fsencode((root / change.path).readlink())
    return read_state(root / change.path, IN_MEMORY, beneath=root).data


def _digested(tree: Tree) -> list[str]:
    return [path.decode("utf-8", "surrogateescape") for path, one in tree.entries.items() if one.side.digest]


def _is_folder(effect: Effect) -> bool:
    return all(side is None or side.type == "folder" for side in (effect.before, effect.after))
