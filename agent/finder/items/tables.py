"""The frontier's tables, beside the events in the run's journal."""

from __future__ import annotations

from hashlib import blake2b

MIDDLE = 1 << 40
"""The first item's place in the queue: what comes later stands behind it, what is rolled back before it."""
FINDING = "finding"
"""State and kind of a finding's key. Findings and items are told apart: the same text may be the key of both."""

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
"""An index of the keys themselves would be as large as they are, and each look at it another page from the disk: a
hash of 64 bits is indexed, and the keys are compared. Counts are kept in one row, nothing is ever counted anew."""
EXISTS = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'frontier_tally'"


def hash_of(key: str) -> int:
    """64 bits that differ for almost any two keys, as SQLite stores them: signed."""
    return int.from_bytes(blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big", signed=True)


def stored(text: str) -> str | bytes:
    """The text, or, where it is no UTF-8, bytes that `read` gives back as this very text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def read(value: str | bytes | None, key: str) -> str:
    """What `stored` was given; None stands for the key itself."""
    if value is None:
        return key
    return value if isinstance(value, str) else value.decode("utf-8", "surrogatepass")


def legible(text: str) -> str:
    r"""The text with what is no UTF-8 as `\udcff`."""
    return text.encode("utf-8", "backslashreplace").decode()
