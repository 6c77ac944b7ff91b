"""Find old contents of a path: in the journal, in displaced files, in the ledger, in the workspace."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ...layers.layer_effects import IN_MEMORY, Side, bytes_at, status_at, target_at
from ...layers.open_below import FOLDER

if TYPE_CHECKING:
    from ...journal.journal import Journal
    from ...layers.displaced_files import Kept
    from .workspace_ledger import Ledger


class PathPast(NamedTuple):
    """What the view of a judge has at a path."""

    side: Side | None
    """None means that nothing is there."""
    data: bytes | None = None
    """The bytes of a text that was merged and is not stored. None means that `Contents.find` has them."""


class Contents(Protocol):
    """Finds what a path contained."""

    def find(self, path: str, side: Side) -> bytes | Path | None:
        """Return the bytes of a file or the target of a link, or a file with the bytes, or None if nothing has them.

        A program may have the returned file open, so the caller compares its digest when it copies it.
        """
        ...


@dataclass(frozen=True, slots=True)
class StoredContents:
    """The contents of one run."""

    journal: Journal
    kept: Kept
    ledger: Ledger
    roots: Sequence[Path]
    """The workspace, and before it the view of an open unit."""

    def find(self, path: str, side: Side) -> bytes | Path | None:
        """Return what the journal, displaced files, the ledger, or the path itself has of a content."""
        if not side.digest:
            return None
        try:
            return self.journal.blobs.load(side.digest)
        except KeyError:
            pass
        kept = self.kept.find(side.digest) or self.ledger.find(side.digest)
        if kept is not None:
            return kept if side.size > IN_MEMORY else _bytes_of(kept, side.digest)
        return next((found for root in self.roots if (found := _present(root, path, side)) is not None), None)


def _present(root: Path, path: str, side: Side) -> bytes | Path | None:
    """Return what is at the path now, if it is this content. Of a large file, only the size is compared."""
    if side.type == "folder":
        return None
    name = os.fsencode(path)
    folder = os.open(root, FOLDER | os.O_CLOEXEC)
    try:
        status = status_at(folder, name)
        if status is None or stat.S_ISLNK(status.st_mode) != (side.type == "link"):
            return None
        if side.type == "link":
            data = target_at(folder, name)
        elif not stat.S_ISREG(status.st_mode):
            return None
        elif side.size > IN_MEMORY:
            return root / path if status.st_size == side.size else None
        else:
            data = bytes_at(folder, name)
    except OSError:
        return None
    finally:
        os.close(folder)
    return data if hashlib.sha256(data).hexdigest() == side.digest else None


def _bytes_of(file: Path, digest: str) -> bytes | None:
    try:
        data = file.read_bytes()
    except OSError:
        return None
    return data if hashlib.sha256(data).hexdigest() == digest else None
