"""Checksums of the spec and of the commands of views."""

from __future__ import annotations

import hashlib
import sqlite3

META_DIGEST = "digest"
"""Key in `meta`: the checksum of the other values."""
_CHANGING = ("live", "chain_from", "tail", META_DIGEST)


def command_digest(at: float, body: bytes) -> bytes:
    """Return the checksum of a command of a view."""
    return hashlib.blake2b(repr(at).encode() + body, digest_size=16).digest()


def meta_digest(rows: list[tuple[str, str]]) -> str:
    """Return the checksum of the constant values in `meta`."""
    kept = sorted((key, value) for key, value in rows if key not in _CHANGING)
    return hashlib.blake2b(repr(kept).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def add_inbox_digest(connection: sqlite3.Connection) -> None:
    """Add checksums to the commands in a journal of an earlier version. Call it inside a transaction."""
    if not connection.execute("SELECT 1 FROM pragma_table_info('commands') WHERE name = 'digest'").fetchone():
        connection.execute("ALTER TABLE commands ADD COLUMN digest BLOB")
