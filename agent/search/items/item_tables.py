"""The tables of the frontier, next to the events in the run's journal."""

from __future__ import annotations

from hashlib import blake2b

MIDDLE = 1 << 40
"""The first item's place in the queue. New items are placed after it, items that are rolled back before it."""
FINDING = "finding"
"""State and kind of a finding's key. An item and a finding may have the same text as key."""

SCHEMA = (
    """
    CREATE TABLE IF NOT EXISTS frontier(
        id INTEGER PRIMARY KEY, hash INTEGER NOT NULL, key TEXT NOT NULL, kind TEXT NOT NULL, value ANY,
        source TEXT NOT NULL, state TEXT NOT NULL, place INTEGER NOT NULL, attempts INTEGER NOT NULL DEFAULT 0,
        due REAL, error TEXT
    ) STRICT
    """,
    "CREATE INDEX IF NOT EXISTS frontier_hashes ON frontier(hash)",
    "CREATE INDEX IF NOT EXISTS frontier_places ON frontier(state, place)",
    "CREATE INDEX IF NOT EXISTS frontier_times ON frontier(due) WHERE due IS NOT NULL",
    """
    CREATE TABLE IF NOT EXISTS frontier_tally(
        one INTEGER PRIMARY KEY, head INTEGER NOT NULL, tail INTEGER NOT NULL,
        queued INTEGER NOT NULL, waiting INTEGER NOT NULL, working INTEGER NOT NULL, done INTEGER NOT NULL,
        set_aside INTEGER NOT NULL, skipped INTEGER NOT NULL, finding INTEGER NOT NULL
    ) STRICT
    """,
    f"INSERT INTO frontier_tally VALUES (1, {MIDDLE}, {MIDDLE}, 0, 0, 0, 0, 0, 0, 0) ON CONFLICT DO NOTHING",
)
"""The hash of 64 bits is indexed and the keys are compared: an index of the keys would be as large as the keys, and
each lookup would read another page of the disk. Counts are kept in one row and never counted again.
"""
MOVES = "CREATE TABLE IF NOT EXISTS frontier_moves(key TEXT PRIMARY KEY, target TEXT NOT NULL) STRICT, WITHOUT ROWID"
"""Addresses that were worked and only lead to another one, with the key of that one."""
EXISTS = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'frontier_tally'"


def hash_of(key: str) -> int:
    """Return a hash of 64 bits, signed as SQLite stores it. It must stay the same for the whole life of a journal."""
    return int.from_bytes(blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big", signed=True)


def stored(text: str) -> str | bytes:
    """Return the text, or, if it is not UTF-8, bytes that `read` turns into the same text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def read(value: str | bytes | None, key: str) -> str:
    """Return the text that `stored` was given; None stands for the key itself."""
    if value is None:
        return key
    return value if isinstance(value, str) else value.decode("utf-8", "surrogatepass")


def legible(text: str) -> str:
    r"""Return the text with what is not UTF-8 written as `\udcff`."""
    return text.encode("utf-8", "backslashreplace").decode()
