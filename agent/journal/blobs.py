"""The contents that events name by their SHA-256, stored in the file of the journal."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Protocol

from ..host.crash import crash_point

if TYPE_CHECKING:
    from .journal_handle import Handle


class Blobs(Protocol):
    """Contents by their SHA-256 in hex."""

    def keep(self, data: bytes) -> str:
        """Store bytes, once; return their SHA-256 in hex."""
        ...

    def load(self, sha: str) -> bytes:
        """Return stored bytes. Raises KeyError if they are missing or damaged."""
        ...


class StoredBlobs:
    """The contents in one journal. Every method raises JournalError if the file cannot be read or written."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    def keep(self, data: bytes) -> str:
        """Store bytes, once; return their SHA-256 in hex."""
        sha = hashlib.sha256(data).hexdigest()
        with self._handle as db:
            db.execute("INSERT INTO blobs VALUES (?, ?) ON CONFLICT DO NOTHING", (sha, data))
            crash_point("content: kept")
        return sha

    def load(self, sha: str) -> bytes:
        """Return stored bytes. Raises KeyError if they are missing or damaged."""
        with self._handle as db:
            row = db.execute("SELECT data FROM blobs WHERE sha = ?", (sha,)).fetchone()
        if row is None or not isinstance(row[0], bytes) or hashlib.sha256(row[0]).hexdigest() != sha:
            raise KeyError(sha)
        return bytes(row[0])
