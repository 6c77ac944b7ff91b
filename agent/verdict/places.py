"""Where the contents that a path had lie: in the journal, in displaced files, in the ledger, in the workspace."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ..layers.effects import IN_MEMORY, Side, bytes_at
from ..layers.opening import FOLDER

if TYPE_CHECKING:
    from ..journal.journal import Journal
    from ..layers.kept import Kept
    from .ledger import Ledger


class PathPast(NamedTuple):
    """What the view of a judge has at a path."""

    side: Side | None
    """None: nothing."""
    data: bytes | None = None
    """The bytes of a text that was merged, which lie nowhere. None: `Contents.find` has them."""


class Contents(Protocol):
    """Finds what a path contained."""

    def find(self, path: str, side: Side) -> bytes | Path | None:
        """Return the bytes of a file or the target of a link, or a file with the bytes; None: nothing has them.

        A program may have the returned file open, so the caller compares its digest when it copies it.
        """
        ...


@dataclass(frozen=True, slots=True)
class StoredContents:
    """The contents of one run."""

    journal: Journal
    kept: Kept
    ledger: Ledger
    root: Path
    """The workspace, or the view of a unit."""

    def find(self, path: str, side: Side) -> bytes | Path | None:
        """Return what the journal, displaced files, the ledger, or the path itself has of a content."""
        if not side.digest:
            return None
        try:
            return self.journal.blob(side.digest)
        except KeyError:
            pass
        kept = self.kept.find(side.digest) or self.ledger.find(side.digest)
        if kept is not None:
            return kept if side.size > IN_MEMORY else _bytes_of(kept, side.digest)
        return self._present(path, side)

    def _present(self, path: str, side: Side) -> bytes | None:
        """Return the bytes that are at the path now, if they are these."""
        if side.type != "file" or side.size > IN_MEMORY:
            return None
        root = os.open(self.root, FOLDER | os.O_CLOEXEC)
        try:
            data = bytes_at(root, os.fsencode(path))
        except OSError:
            return None
        finally:
            os.close(root)
        return data if hashlib.sha256(data).hexdigest() == side.digest else None


def _bytes_of(file: Path, digest: str) -> bytes | None:
    try:
        data = file.read_bytes()
    except OSError:
        return None
    return data if hashlib.sha256(data).hexdigest() == digest else None
