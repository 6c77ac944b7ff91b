"""Read a store of blobs and trees in git's format (gitformat-loose(5)).

rundry reads it without running git, so that filters, hooks and settings cannot change content or run code.
"""

from __future__ import annotations

import hashlib
import zlib
from pathlib import Path
from typing import NamedTuple

from ...host.file_errors import SnapshotDamaged

LINK, FOLDER, LARGE = 0o120000, 0o040000, 0o160000
"""Modes of tree entries in addition to those of plain files. LARGE is git's mode for a submodule's commit; here it
marks a file whose content is not stored."""

_MOST_ENTRIES = 2_000
"""Maximum number of entries of all trees in memory; the newest tree is kept even if it is larger."""


class TreeEntry(NamedTuple):
    """An entry of a tree."""

    mode: int
    sha: str


class ObjectStore:
    """A folder in which each object is a file that is named by its SHA-1."""

    def __init__(self, folder: Path) -> None:
        self._objects = folder / "objects"
        self._trees: dict[str, dict[bytes, TreeEntry]] = {}
        self._entries = 0
        """Number of entries of all trees in memory."""

    def blob(self, sha: str) -> bytes:
        """Return the bytes of a blob. Raises SnapshotDamaged if it is missing or damaged."""
        return self._get(b"blob", sha)

    def tree(self, sha: str) -> dict[bytes, TreeEntry]:
        """Return the entries of a tree by name. Raises SnapshotDamaged if it is missing or damaged."""
        known = self._trees.get(sha)
        if known is not None:
            return known
        body, entries = self._get(b"tree", sha), dict[bytes, TreeEntry]()
        while body:
            head, _, body = body.partition(b"\0")
            mode, _, name = head.partition(b" ")
            entries[name] = TreeEntry(int(mode, 8), body[:20].hex())
            body = body[20:]
        self._remember(sha, entries)
        return entries

    def _remember(self, sha: str, entries: dict[bytes, TreeEntry]) -> None:
        """Keep a tree in memory, and drop the oldest trees while there are too many entries."""
        self._entries += len(entries)
        self._trees[sha] = entries
        while self._entries > _MOST_ENTRIES and len(self._trees) > 1:
            self._entries -= len(self._trees.pop(next(iter(self._trees))))

    def _get(self, kind: bytes, sha: str) -> bytes:
        try:
            raw = zlib.decompress((self._objects / sha[:2] / sha[2:]).read_bytes())
        except (OSError, zlib.error) as error:
            raise SnapshotDamaged(f"the snapshot's object {sha} cannot be read: {error}") from None
        head, _, data = raw.partition(b"\0")
        if head != b"%s %d" % (kind, len(data)):
            raise SnapshotDamaged(f"the snapshot's object {sha} is damaged")
        return data


def blob_id(data: bytes) -> str:
    """Return git's id of a blob with these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
