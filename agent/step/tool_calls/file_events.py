"""The event of a file that a command or an undo changed."""

from __future__ import annotations

import os
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from ...gate.text_diff import compare_contents
from ...protocol import ChangedBy, FileChanged, NotStored
from ...protocol.text.hunks import Split

if TYPE_CHECKING:
    from pathlib import Path

    from ...journal.journal import Journal
    from ...layers.effect_rows import EffectRow
    from ...layers.layer_effects import Side

_COMPARED = 1 << 18
"""Bytes of the largest file whose changed lines are counted."""


class FileContents(NamedTuple):
    """A file before and after a change, or None if there was none, or its content is not stored."""

    path: str
    before: bytes | None
    after: bytes | None
    unstored_before: NotStored | None = None
    """The content before, if there was one that is not stored."""
    unstored_after: NotStored | None = None


def contents_of(row: EffectRow, before: bytes | None, after: bytes | None) -> FileContents:
    """Return the contents of a row. A content is None if it is not stored."""
    return FileContents(row.path, before, after, _unstored(row.before, before), _unstored(row.after, after))


def _unstored(side: Side | None, data: bytes | None) -> NotStored | None:
    if side is None or side.type == "folder" or data is not None:
        return None
    return NotStored(size=side.size, digest=side.digest)


def file_changed(journal: Journal, change: FileContents, by: ChangedBy) -> FileChanged:
    """Return the event of a file that changed."""
    blobs, (added, removed) = journal.blobs, _counts(change)
    return FileChanged(
        path=change.path,
        by=by,
        before=None if change.before is None else blobs.keep(change.before),
        after=None if change.after is None else blobs.keep(change.after),
        unstored_before=change.unstored_before,
        unstored_after=change.unstored_after,
        added=added,
        removed=removed,
    )


def missing_folders(root: Path, path: str) -> list[str]:
    """Return the folders that have to be made before a file can be written, relative."""
    above = [str(folder) for folder in PurePosixPath(path).parents if str(folder) != "."]
    return [folder for folder in above if not os.path.lexists(root / folder)]


def stored_contents(journal: Journal, row: EffectRow) -> FileContents:
    """Return those contents of a row that the journal has."""

    def load(side: Side | None) -> bytes | None:
        try:
            return None if side is None or not side.digest else journal.blobs.load(side.digest)
        except KeyError:
            return None

    return contents_of(row, load(row.before), load(row.after))


def _counts(change: FileContents) -> tuple[int, int]:
    """Count lines added and removed; for large or binary files 0 or all lines."""
    if max(len(change.before or b""), len(change.after or b"")) <= _COMPARED:
        sides = compare_contents(change.before, change.after)
        if sides is not None:
            parts = Split(sides.old, sides.new, list(sides.compare()))
            return parts.added, parts.removed
    return _lines(change.after), _lines(change.before)


def _lines(data: bytes | None) -> int:
    return 0 if data is None else data.count(b"\n")
