"""Plan how to undo several changes of each file, from the newest back to one that someone else changed in between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import msgspec

from ...protocol import FileChanged, RundryError
from ...repo.old_snapshots.loose_objects import blob_id
from ...repo.old_snapshots.restore import FileVersion, same_content

if TYPE_CHECKING:
    from ...journal.blobs import Blobs
    from ...journal.journal import Journal
    from ...repo.old_snapshots.snapshots import Snapshots
    from ...state.facts.change_log import FileEffect, RecordedChange


class Unknown(RundryError):
    """The journal does not contain enough about a change to undo it."""


@dataclass(slots=True)
class FileRestore:
    """How to restore one file: its present version, and the version to restore."""

    path: str
    want: FileVersion | None
    """The version to restore, or None if the file did not exist."""
    have: FileVersion | None
    """The version after the newest change. None means that the change deleted it."""
    from_blob: str | None
    to_blob: str | None
    added: int = 0
    removed: int = 0
    folders: frozenset[str] = frozenset()
    """Parent folders that existed before the oldest change."""
    is_broken: bool = False
    """Whether someone else changed the file between two changes, so that the older ones cannot be undone."""
    _mode: int | None = None
    _is_one_file: bool = True
    """Whether the file was never deleted between these changes."""

    def add_older(self, before: FileVersion | None, after: FileVersion | None, moved: FileEffect) -> None:
        """Add the next older change, after which the file had the version that is wanted so far."""
        self._pass(after)
        self._pass(before)
        self.to_blob = moved.before
        self.added += moved.removed
        self.removed += moved.added

    def moved(self) -> FileChanged:
        """Return the event for the restored file."""
        return FileChanged(
            path=self.path,
            by="undo",
            before=self.from_blob,
            after=self.to_blob,
            added=self.added,
            removed=self.removed,
        )

    def _pass(self, state: FileVersion | None) -> None:
        """Make this the wanted version, with the permissions of the nearest change that recorded them."""
        if state is None:
            self._mode, self._is_one_file = None, False
        elif state.mode is None:
            state = msgspec.structs.replace(state, mode=self._mode)
        else:
            self._mode = state.mode
            if self._is_one_file and self.have is not None and self.have.mode is None:
                self.have = msgspec.structs.replace(self.have, mode=state.mode)
        self.want = state


@dataclass(slots=True)
class RestorePlan:
    """The restores of all files."""

    journal: Journal
    snapshots: Snapshots
    found: dict[str, FileRestore] = field(default_factory=dict[str, FileRestore])
    lost: list[str] = field(default_factory=list[str])
    """A line for each change that cannot be undone, with the reason."""

    async def add(self, change: RecordedChange) -> None:
        """Add the next older change."""
        try:
            before, after = await versions_of(self.journal, self.snapshots, change)
            folders = await folders_before(self.snapshots, change)
        except RundryError as error:
            self.lost += [f"{path}: {error}" for path in change.files or (change.title,)]
            self._break(change.files)
            return
        for path, moved in change.files.items():
            restore = self.found.get(path)
            if restore is None:
                restore = self.found[path] = FileRestore(path, after[path], after[path], moved.after, moved.after)
            if restore.is_broken:
                continue
            if same_content(restore.want, after[path]):
                restore.add_older(before[path], after[path], moved)
                restore.folders = folders
            else:
                restore.is_broken = True
                self.lost.append(f"{path}: someone changed it after step {change.step}")

    def _break(self, paths: Mapping[str, FileEffect]) -> None:
        for path in paths:
            if path in self.found:
                self.found[path].is_broken = True


Versions = Mapping[str, FileVersion | None]
"""Files by path, as they were, or None if there was no file."""


async def versions_of(journal: Journal, snapshots: Snapshots, change: RecordedChange) -> tuple[Versions, Versions]:
    """Return the files before and after an edit, or a command without a layer. Raises RundryError."""
    paths: Sequence[str] = list(change.files)
    if change.command is None:
        before = {path: _kept(journal, path, moved.before) for path, moved in change.files.items()}
        return before, {path: _kept(journal, path, moved.after) for path, moved in change.files.items()}
    if not paths:
        raise Unknown("what this command changed is not known, because it did not run in a layer")
    if change.world is None or change.world_after is None:
        raise Unknown("what was there before is not known, because the command did not run in a layer")
    return await snapshots.versions(change.world, paths), await snapshots.versions(change.world_after, paths)


async def folders_before(snapshots: Snapshots, change: RecordedChange) -> frozenset[str]:
    """Return the folders above the files of a change that stay although they are empty. Raises RundryError."""
    if change.world is not None:
        return await snapshots.parent_folders(change.world, list(change.files))
    known = {path: moved.folders for path, moved in change.files.items() if moved.folders is not None}
    return frozenset(
        str(folder) for path, made in known.items() for folder in PurePosixPath(path).parents if str(folder) not in made
    )


def _kept(journal: Journal, path: str, blob: str | None) -> FileVersion | None:
    if blob is None:
        return None
    sha = blob_id(_content(journal.blobs, path, blob))
    return RecordedVersion(sha, path=path, blob=blob, blobs=journal.blobs)


class RecordedVersion(FileVersion, frozen=True, kw_only=True):
    """A file as the journal has it."""

    path: str
    blob: str
    """Digest of its content in the journal."""
    blobs: Blobs

    def load(self) -> bytes:
        """Return its bytes. Raises Unknown."""
        return _content(self.blobs, self.path, self.blob)


def _content(blobs: Blobs, path: str, blob: str) -> bytes:
    try:
        return blobs.load(blob)
    except KeyError:
        raise Unknown(f"{path}: the journal does not contain its earlier content") from None
