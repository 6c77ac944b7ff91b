"""A private store of blobs and trees in git's format (gitformat-loose(5)).

rundry reads and writes it without running git, so that filters, hooks and settings cannot change content or run code.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import zlib
from pathlib import Path
from typing import NamedTuple

from ..errors import SnapshotDamaged

LINK, FOLDER, LARGE = 0o120000, 0o040000, 0o160000
"""Modes of tree entries in addition to those of plain files. LARGE is git's mode for a submodule's commit; here it
marks a file whose content is not stored."""

_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n\thooksPath = /dev/null\n"
_ATTRIBUTES = "* -text -filter -ident -working-tree-encoding -diff -merge\n"
_MOST_ENTRIES = 2_000
"""Maximum number of entries of all trees in memory; the newest tree is kept even if it is larger."""


class Entry(NamedTuple):
    """An entry of a tree."""

    mode: int
    sha: str


class ObjectStore:
    """Stores each object in a file that is named by its SHA-1 and readable only by the user."""

    def __init__(self, folder: Path) -> None:
        self._objects = folder / "objects"
        self._trees: dict[str, dict[bytes, Entry]] = {}
        self._entries = 0
        """Number of entries of all trees in memory."""
        if not (folder / "HEAD").exists():
            _lay_out(folder)

    def put_blob(self, data: bytes) -> str:
        """Store a blob and return its id."""
        return self._put(b"blob", data)

    def put_tree(self, entries: dict[bytes, Entry]) -> str:
        """Store the tree of a folder with these entries and return its id."""
        lines = sorted(entries.items(), key=lambda item: item[0] + b"/" if item[1].mode == FOLDER else item[0])
        body = b"".join(b"%o %s\0%s" % (entry.mode, name, bytes.fromhex(entry.sha)) for name, entry in lines)
        sha = self._put(b"tree", body)
        self._remember(sha, entries)
        return sha

    def blob(self, sha: str) -> bytes:
        """Return the bytes of a blob. Raises SnapshotDamaged if it is missing or damaged."""
        return self._get(b"blob", sha)

    def tree(self, sha: str) -> dict[bytes, Entry]:
        """Return the entries of a tree by name. Raises SnapshotDamaged if it is missing or damaged."""
        known = self._trees.get(sha)
        if known is not None:
            return known
        body, entries = self._get(b"tree", sha), dict[bytes, Entry]()
        while body:
            head, _, body = body.partition(b"\0")
            mode, _, name = head.partition(b" ")
            entries[name] = Entry(int(mode, 8), body[:20].hex())
            body = body[20:]
        self._remember(sha, entries)
        return entries

    def _remember(self, sha: str, entries: dict[bytes, Entry]) -> None:
        """Keep a tree in memory, and drop the oldest trees while there are too many entries."""
        self._entries += len(entries) - len(self._trees.pop(sha, ()))
        self._trees[sha] = entries
        while self._entries > _MOST_ENTRIES and len(self._trees) > 1:
            self._entries -= len(self._trees.pop(next(iter(self._trees))))

    def _put(self, kind: bytes, data: bytes) -> str:
        head, sha = _named(kind, data)
        folder = self._objects / sha[:2]
        file = folder / sha[2:]
        if file.exists():
            return sha
        folder.mkdir(mode=0o700, exist_ok=True)
        aside = folder / f"tmp_{secrets.token_hex(8)}"
        try:
            fd = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(fd, "wb") as out:
                out.write(zlib.compress(head + data, 1))
            aside.replace(file)
        except OSError:
            aside.unlink(missing_ok=True)
            raise
        return sha

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
    return _named(b"blob", data)[1]


def _named(kind: bytes, data: bytes) -> tuple[bytes, str]:
    head = b"%s %d\0" % (kind, len(data))
    return head, hashlib.sha1(head + data, usedforsecurity=False).hexdigest()


def _lay_out(folder: Path) -> None:
    for path in (folder, folder / "objects", folder / "refs", folder / "info"):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.chmod(0o700)
    (folder / "config").write_text(_CONFIG)
    (folder / "info" / "attributes").write_text(_ATTRIBUTES)
    (folder / "HEAD").write_text("ref: refs/heads/none\n")
