"""What the journal says so far, without reading all of it: a long run is resumed and shown from the newest checkpoint.

A checkpoint is derived and may be missing: whatever cannot be read is folded from the events again.
"""

from __future__ import annotations

from copy import copy
from functools import cache
from importlib.metadata import version
from typing import Any

import msgspec

from ..journal.journal import Journal
from ..protocol import ConversationRestored, Rewound
from .conversation import main_conversation
from .facts import RunFacts
from .logs import PackedLog, drop_stored, read_from, store, with_digest, without_digest
from .search.finder_facts import FinderFacts

EVERY = 2_000
"""Events between two checkpoints: what is folded at most when a run is taken up."""
VIEW = 2
"""Row of the state of a view; that of the run's facts is 1."""
_FACTS = 1
_GOING_BACK = (Rewound, ConversationRestored)
"""What brings messages back."""
_BATCH = 10_000
_ACTIONS, _CHANGES = "actions", "changes"
"""Names of the logs whose older parts are stored apart."""
_TABLE = "CREATE TABLE checkpoint(one INTEGER PRIMARY KEY, made_by TEXT NOT NULL, body BLOB NOT NULL) STRICT"
_SAVE = "INSERT OR REPLACE INTO checkpoint VALUES (?, ?, ?)"
_EXISTS = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'checkpoint'"


class _OfSearch(msgspec.Struct):
    """The part of stored facts that a view of a search needs."""

    last_seq: int
    finder: FinderFacts | None


def facts_of(journal: Journal) -> RunFacts:
    """The fold of all events."""
    facts, goes_back = _saved(journal) or RunFacts(journal.spec), False
    while events := journal.read(facts.last_seq, _BATCH):
        for stamped in events:
            facts.apply(stamped)
            goes_back = goes_back or (stamped.work is None and isinstance(stamped.event, _GOING_BACK))
    if goes_back and facts.main.is_partial:  # the stored messages lack those that were not sent any more
        facts.conversations[None] = main_conversation(journal, facts.last_seq)
    return facts


def checkpoint_seq(journal: Journal) -> int:
    """The last event that the newest checkpoint covers; 0 where there is no checkpoint."""
    saved = _saved(journal)
    return saved.last_seq if saved is not None else 0


def save(journal: Journal, facts: RunFacts) -> None:
    """Keeps what was folded up to `facts.last_seq`."""
    with journal.transaction():
        stored = copy(facts)
        stored.changes = copy(facts.changes)
        stored.actions = store(journal, _ACTIONS, facts.actions)
        stored.changes.standing = store(journal, _CHANGES, facts.changes.standing)
        save_body(journal, _FACTS, msgspec.msgpack.encode(stored))


def drop_saved(journal: Journal, facts: RunFacts) -> None:
    """Free the memory of what the journal stores: these facts were saved, and that was committed."""
    drop_stored(journal, _logs_of(facts))


def save_body(journal: Journal, row: int, body: bytes) -> None:
    """Store bytes in a row of the checkpoint."""
    with journal.transaction():
        if not journal.rows(_EXISTS):
            journal.rows(_TABLE)
        journal.write(_SAVE, [(row, made_by(), with_digest(body))])


def saved_body(journal: Journal, row: int) -> bytes | None:
    """The bytes in a row of the checkpoint; None: this version cannot use what is there."""
    if not journal.rows(_EXISTS):
        return None
    for maker, body in journal.rows("SELECT made_by, body FROM checkpoint WHERE one = ?", [row]):
        if maker == made_by():
            return without_digest(body)
    return None


def finder_at(journal: Journal, seq: int) -> FinderFacts | None:
    """The facts of a search after that event, where the checkpoint is of that event."""
    body = saved_body(journal, _FACTS)
    try:
        found = msgspec.msgpack.decode(body, type=_OfSearch) if body is not None else None
    except (msgspec.DecodeError, TypeError):
        return None
    return found.finder if found is not None and found.last_seq == seq else None


@cache
def made_by() -> str:
    """Another version may count otherwise, or does not know the digest behind the body."""
    return f"{version('rundry')} with view, facts and logs"


def _saved(journal: Journal) -> RunFacts | None:
    body = saved_body(journal, _FACTS)
    try:
        facts = msgspec.msgpack.decode(body, type=RunFacts) if body is not None else None
    except (msgspec.DecodeError, TypeError):
        return None
    if facts is None or facts.last_seq > journal.last_seq():
        return None
    read_from(journal, _logs_of(facts))
    return facts


def _logs_of(facts: RunFacts) -> dict[str, PackedLog[Any]]:
    return {_ACTIONS: facts.actions, _CHANGES: facts.changes.standing}
