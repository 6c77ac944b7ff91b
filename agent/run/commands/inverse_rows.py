"""Plan an undo as rows: for each path what is there now and what was there before, over several changes.

What commands changed in layers is recorded as rows. Edits of tools, and commands that ran without a layer, have their
contents in the journal or in snapshots; here they become rows, too, so that one order takes all of it back.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from ...journal.encoding import recorded_text
from ...layers.effect_rows import EffectRow, decode_git, decode_rows
from ...layers.git.apply_git_rows import name_of
from ...layers.git.git_rows import GitChanges, GitRow, IndexRow, RefRow, StashRow, inverse, key_of
from ...layers.layer_effects import Side, is_same
from ...protocol import RundryError
from ...repo.old_snapshots.loose_objects import LARGE, LINK
from ...state.facts.standing_changes import GIT_WORDS
from .undo_plan import Unknown, folders_before, versions_of

if TYPE_CHECKING:
    from ...host.workspace_paths import Workspace
    from ...journal.journal import Journal
    from ...layers.displaced_files import Kept
    from ...repo.old_snapshots.restore import FileVersion
    from ...repo.old_snapshots.snapshots import Snapshots
    from ...state.facts.change_log import RecordedChange

_FOLDER = Side(type="folder")


@dataclass(slots=True)
class _Path:
    """One path, before and after the changes that were added so far."""

    have: Side | None
    """What the newest change left. None means nothing."""
    want: Side | None
    """What was there before the oldest one."""
    is_shown: bool
    is_broken: bool = False
    """Whether somebody else changed it between two changes, so that the older ones cannot be undone."""


@dataclass(slots=True)
class _Repository:
    """One repository: the rows of the changes so far, in the order in which they were applied."""

    changes: GitChanges
    rows: list[GitRow]
    is_broken: bool = False


class Inverse(NamedTuple):
    """An undo as rows."""

    rows: list[EffectRow]
    shown: int
    """Number of rows that are shown one by one; they come first."""
    contents: Mapping[str, bytes]
    """What the rows restore, by path, except what only a displaced file has."""
    git: list[GitChanges]
    lost: list[str]
    """A line for each path that cannot be undone, with the reason."""
    also: list[str]
    """What is undone without being shown path by path, in words."""


@dataclass(slots=True)
class InversePlan:
    """The rows of an undo. Changes are added from the newest to the oldest."""

    workspace: Workspace
    journal: Journal
    snapshots: Snapshots
    kept: Kept
    lost: list[str] = field(default_factory=list[str])
    """A line for each path that cannot be undone, with the reason."""
    also: list[str] = field(default_factory=list[str])
    """What is undone without being named path by path, in words."""
    _paths: dict[str, _Path] = field(default_factory=dict[str, _Path])
    _repositories: dict[bytes, _Repository] = field(default_factory=dict[bytes, _Repository])
    _versions: dict[str, FileVersion] = field(default_factory=dict[str, "FileVersion"])
    """Files whose contents are in the journal or in a snapshot, by SHA-256."""
    _bare: set[str] = field(default_factory=set[str])
    """Folders that did not exist before a change and go if nothing is left in them."""

    async def add(self, change: RecordedChange, *, only: str | None, left: Collection[str]) -> None:
        """Add the next older change. `only`: nothing but this file. `left`: files of it that are not undone."""
        effects = change.effects
        if effects is None:
            await self._add_versions(change, left)
            return
        try:
            rows = decode_rows(self.journal.blobs.load(effects.rows))
            git = [] if effects.git is None else decode_git(self.journal.blobs.load(effects.git))
        except KeyError:
            self.lost.append(f"{change.title}: the journal does not contain what it changed")
            return
        failed = {*effects.failed}
        for number, row in enumerate(rows):
            name = recorded_text(row.path)
            if number in failed or name in change.undone or (only is not None and name != only):
                continue
            if effects.in_place and name in left:
                continue
            self._add(row, change.step, is_shown=number < effects.shown)
        if only is not None:
            made = {row.path for row in rows if row.before is None and _is_folder(row.after)}
            self._bare |= made.intersection(_above(only))
            return
        self.also += [words for words in effects.also if not words.startswith(GIT_WORDS)]
        for number, changes in enumerate(git):
            if number not in effects.failed_git:
                self._add_git(changes, change.step)

    def build(self) -> Inverse:
        """Return the rows with their contents. A path whose old content is not there any more is named in `lost`."""
        shown, others = list[EffectRow](), list[EffectRow]()
        contents, lost = dict[str, bytes](), [*self.lost]
        for path, one in self._paths.items():
            want, have = one.want, one.have
            if _same(have, want):
                continue
            data = None if want is None else self._load(want)
            if data is not None:
                contents[path] = data
            elif want is not None and not self._is_there(want, have):
                lost.append(f"{recorded_text(path)}: not undone, because its old content is not kept")
                continue
            if want is not None:
                want = msgspec.structs.replace(want, mtime_ns=0)  # it is written now, and build tools must notice it
            row = EffectRow(path=path, before=have, after=want)
            (shown if one.is_shown and not _is_folder(have, want) else others).append(row)
        folders = self._folders([*shown, *others])
        return Inverse([*shown, *others, *folders], len(shown), contents, self._git(), lost, self.also)

    def _git(self) -> list[GitChanges]:
        found = list[GitChanges]()
        for one in self._repositories.values():
            rows = [row for row in one.rows if not _is_idle(row)]
            if rows:
                found.append(msgspec.structs.replace(one.changes, rows=inverse(tuple(rows)), logs={}, not_taken=()))
        return found

    def _add(self, row: EffectRow, step: int | None, *, is_shown: bool) -> None:
        known = self._paths.get(row.path)
        if known is None:
            self._paths[row.path] = _Path(row.after, row.before, is_shown)
        elif known.is_broken:
            return
        elif _same(known.want, row.after):
            known.want, known.is_shown = row.before, known.is_shown or is_shown
        else:
            known.is_broken = True
            self.lost.append(f"{recorded_text(row.path)}: someone changed it after step {step}")

    async def _add_versions(self, change: RecordedChange, left: Collection[str]) -> None:
        """Add an edit, or a command without a layer."""
        try:
            before, after = await versions_of(self.journal, self.snapshots, change)
            folders = await folders_before(self.snapshots, change)
            rows = [
                EffectRow(path=path, before=self._side(path, before[path]), after=self._side(path, after[path]))
                for path in change.files
                if path not in left
            ]
        except RundryError as error:
            self.lost += [f"{path}: {error}" for path in change.files or (change.title,)]
            for path in change.files.keys() & self._paths.keys():
                self._paths[path].is_broken = True
            return
        for row in rows:
            self._add(row, change.step, is_shown=True)
            if row.before is None:
                self._bare |= {*_above(row.path)} - folders

    def _side(self, path: str, version: FileVersion | None) -> Side | None:
        """Return a version as a side. An edit keeps the permissions of its file. Raises RundryError."""
        if version is None:
            return None
        if version.mode == LARGE:
            raise Unknown("it was too large to be stored")
        data = version.load()
        digest = hashlib.sha256(data).hexdigest()
        self._versions[digest] = version
        if version.mode == LINK:
            return Side(type="link", digest=digest, size=len(data))
        runs, mode = self._permissions(path) if version.mode is None else _permissions_of(version.mode)
        return Side(type="file", digest=digest, size=len(data), executable=runs, mode=mode)

    def _permissions(self, path: str) -> tuple[bool, int]:
        """Return whether a file is executable after the change that is added next, and its permissions.

        Returns 0 if unknown.
        """
        known = self._paths.get(path)
        if known is not None:
            return (False, 0) if known.want is None else (known.want.executable, known.want.mode)
        try:
            return _permissions_of((self.workspace.root / path).lstat().st_mode)
        except OSError:
            return False, 0

    def _is_there(self, want: Side, have: Side | None) -> bool:
        """Return whether a content that the journal does not have stays, or was kept."""
        if want.type == "folder" or (have is not None and have.type == want.type and have.digest == want.digest):
            return True
        return want.type == "file" and self.kept.find(want.digest) is not None

    def _load(self, side: Side) -> bytes | None:
        if side.type == "folder" or not side.digest:
            return None
        try:
            version = self._versions.get(side.digest)
            return self.journal.blobs.load(side.digest) if version is None else version.load()
        except (KeyError, RundryError):
            return None

    def _folders(self, rows: Sequence[EffectRow]) -> list[EffectRow]:
        """Return rows of folders: those that a restored file needs, and those that go with the files in them."""
        known = {row.path for row in rows}
        needed = {above for row in rows if row.after is not None for above in _above(row.path)}
        missing = {above for row in rows if row.before is None and row.after is not None for above in _above(row.path)}
        made = [path for path in missing - known if not os.path.lexists(self.workspace.root / path)]
        gone = self._bare - known - needed
        return [
            *(EffectRow(path=path, before=None, after=_FOLDER) for path in sorted(made)),
            *(EffectRow(path=path, before=_FOLDER, after=None) for path in sorted(gone)),
        ]

    def _add_git(self, changes: GitChanges, step: int | None) -> None:
        known = self._repositories.get(changes.common)
        if known is None:
            self._repositories[changes.common] = _Repository(changes, [*changes.rows])
        elif not known.is_broken:
            self._add_older(known, changes, step)

    def _add_older(self, known: _Repository, changes: GitChanges, step: int | None) -> None:
        """Put the rows of an older change before those of newer ones, or none of them if one does not fit."""
        newer = {key_of(row): row for row in known.rows}
        older = list[GitRow]()
        for row in changes.rows:
            later = newer.pop(key_of(row), None)
            joined = row if later is None else _joined(row, later)
            if joined is None:
                known.is_broken = True
                self.lost.append(f"git: {name_of(row)}: someone changed it after step {step}")
                return
            older += joined if isinstance(joined, list) else [joined]
        trees = tuple(dict.fromkeys((*changes.trees, *known.changes.trees)))
        known.changes = msgspec.structs.replace(known.changes, trees=trees)
        known.rows = [*older, *(row for row in known.rows if key_of(row) in newer)]


def _joined(older: GitRow, later: GitRow) -> GitRow | list[GitRow] | None:
    """Return two rows of the same thing as one, or an empty list if it came and went.

    Returns None if somebody changed it between them.
    """
    if isinstance(older, StashRow) or isinstance(later, StashRow):
        fits = isinstance(older, StashRow) and isinstance(later, StashRow) and older.is_new != later.is_new
        return list[GitRow]() if fits else None
    if older.after != later.before:
        return None
    return msgspec.structs.replace(later, before=older.before)


def _is_idle(row: GitRow) -> bool:
    """Return whether a row changes nothing, and no other one needs it to stay."""
    return isinstance(row, RefRow | IndexRow) and row.before == row.after


def _same(one: Side | None, other: Side | None) -> bool:
    return one is other if one is None or other is None else is_same(one, other)


def _permissions_of(mode: int) -> tuple[bool, int]:
    return bool(mode & stat.S_IXUSR), mode & 0o777


def _is_folder(*sides: Side | None) -> bool:
    return all(side is None or side.type == "folder" for side in sides)


def _above(path: str) -> list[str]:
    return [str(folder) for folder in PurePosixPath(path).parents if str(folder) != "."]
