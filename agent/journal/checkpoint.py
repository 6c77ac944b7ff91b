"""What the journal says so far, without reading all of it: a long search is taken up from the newest checkpoint on.

A checkpoint is derived and may be missing: whatever cannot be read is folded from the events again.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import version

import msgspec

from .facts import RunFacts
from .journal import Journal

EVERY = 2_000
"""Events between two checkpoints: what is folded at most when a run is taken up."""
_BATCH = 10_000
_DIGEST_BYTES = 16
_TABLE = "CREATE TABLE checkpoint(one INTEGER PRIMARY KEY, made_by TEXT NOT NULL, body BLOB NOT NULL) STRICT"
_SAVE = "INSERT OR REPLACE INTO checkpoint VALUES (1, ?, ?)"
_EXISTS = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'checkpoint'"


def facts_of(journal: Journal) -> RunFacts:
    """The fold of all events."""
    facts = _saved(journal) or RunFacts(journal.spec)
    while events := journal.read(facts.last_seq, _BATCH):
        for stamped in events:
            facts.apply(stamped)
    return facts


def checkpoint_seq(journal: Journal) -> int:
    """The last event that the newest checkpoint covers; 0 where there is no checkpoint."""
    saved = _saved(journal)
    return saved.last_seq if saved is not None else 0


def save(journal: Journal, facts: RunFacts) -> None:
    """Keeps what was folded up to `facts.last_seq`. Not to be called inside of a transaction."""
    with journal.transaction():
        if not journal.rows(_EXISTS):
            journal.rows(_TABLE)
        body = msgspec.msgpack.encode(facts)
        journal.write(_SAVE, [(_made_by(), body + _digest(body))])


def _saved(journal: Journal) -> RunFacts | None:
    if not journal.rows(_EXISTS):
        return None
    for made_by, body in journal.rows("SELECT made_by, body FROM checkpoint"):
        if made_by == _made_by() and body[-_DIGEST_BYTES:] == _digest(body[:-_DIGEST_BYTES]):
            try:
                facts = msgspec.msgpack.decode(body[:-_DIGEST_BYTES], type=RunFacts)
            except (msgspec.DecodeError, TypeError):
                return None
            return facts if facts.last_seq <= journal.last_seq() else None
    return None


@cache
def _made_by() -> str:
    """Another version may count otherwise, or does not know the digest behind the body."""
    return f"{version('rundry')} with digest"


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_DIGEST_BYTES).digest()
