"""Chunks of packed logs in a table of the journal, so that a checkpoint stores only the newest items of each log."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, TypeVar

from ...protocol import JournalError
from .packed import PackedLog

if TYPE_CHECKING:
    from ...journal.journal import Journal

_DIGEST_BYTES = 16
_TABLE = """
CREATE TABLE IF NOT EXISTS chunks(
    log TEXT NOT NULL, place INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY(log, place)
) STRICT, WITHOUT ROWID
"""
_ADD = "INSERT OR REPLACE INTO chunks VALUES (?, ?, ?)"
_READ = "SELECT body FROM chunks WHERE log = ? AND place = ?"
_Log = TypeVar("_Log", bound=PackedLog[Any])


def store(journal: Journal, name: str, log: _Log) -> _Log:
    """Write the chunks that are only in memory. Return the log as a checkpoint stores it: without chunks.

    `log` does not change: call `drop_stored` after the commit. Raises JournalError.
    """
    new = [(name, place, with_digest(body)) for place, body in enumerate(log.packed) if body is not None]
    if new:
        journal.rows(_TABLE)
        journal.write(_ADD, new)
    bare = copy(log)
    bare.packed = [None] * len(log.packed)
    return bare


def drop_stored(journal: Journal, logs: Mapping[str, PackedLog[Any]]) -> None:
    """Free the memory of all chunks. Call it after the transaction of `store` was committed."""
    for log in logs.values():
        log.packed = [None] * len(log.packed)
    read_from(journal, logs)


def read_from(journal: Journal, logs: Mapping[str, PackedLog[Any]]) -> None:
    """Set up these logs to read their stored chunks from this journal when needed."""
    for name, log in logs.items():
        log.load = lambda place, name=name: _chunk(journal, name, place)


def _chunk(journal: Journal, name: str, place: int) -> bytes:
    rows: Iterable[tuple[bytes]] = journal.rows(_READ, [name, place])
    found = next((without_digest(body) for (body,) in rows), None)
    if found is not None:
        return found
    raise JournalError(f"{journal.path} is damaged: part {place} of its list of {name} is missing or wrong")


def with_digest(body: bytes) -> bytes:
    """Return the bytes followed by their digest."""
    return body + _digest(body)


def without_digest(stored: bytes) -> bytes | None:
    """Return the bytes without the digest that `with_digest` added; None: damaged, or without a digest."""
    body = stored[:-_DIGEST_BYTES]
    return body if stored[-_DIGEST_BYTES:] == _digest(body) else None


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_DIGEST_BYTES).digest()
