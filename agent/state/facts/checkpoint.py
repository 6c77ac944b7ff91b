"""Checkpoints of the facts: a long run is resumed and displayed without reading its whole journal.

A checkpoint is derived data and may be missing: what cannot be read is folded from the events again.
"""

from __future__ import annotations

from copy import copy
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from ...journal.database import LANDMARKS
from ...journal.encoding import decode
from ...protocol import (
    ContextTrimmed,
    ConversationCut,
    ConversationRestored,
    Rewound,
    RunEnded,
    RunResumed,
    Stamped,
    Undone,
    event_name,
)
from ...protocol.version import VERSION
from ..common.void_end import after_undos
from ..search.finder_facts import FinderFacts
from .conversation import main_conversation
from .packed_log import drop_stored, read_from, store, with_digest, without_digest
from .run_facts import RunFacts

if TYPE_CHECKING:
    from ...journal.journal import Journal
    from .packed_log import PackedLog

EVERY = 2_000
"""Events between two checkpoints: the maximum to fold when a run is resumed."""
VIEW = 2
"""Row of the view state; the row of the run's facts is 1."""
_FACTS = 1
_BATCH = 10_000
_ACTIONS, _CHANGES = "actions", "changes"
"""Names of the logs whose older parts are stored separately."""
_TABLE = "CREATE TABLE checkpoint(one INTEGER PRIMARY KEY, made_by TEXT NOT NULL, body BLOB NOT NULL) STRICT"
_TURN = f"SELECT seq, type, body FROM events WHERE {LANDMARKS} AND type IN (?, ?) ORDER BY seq DESC LIMIT 1"
_SAVE = "INSERT OR REPLACE INTO checkpoint VALUES (?, ?, ?)"
_EXISTS = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'checkpoint'"


class _OfSearch(msgspec.Struct):
    """The part of stored facts that a view of a search needs."""

    last_seq: int
    finder: FinderFacts | None


def facts_of(journal: Journal) -> RunFacts:
    """Fold all events of a journal."""
    facts = _saved(journal) or RunFacts(journal.spec)
    while events := journal.read(facts.last_seq, _BATCH):
        for stamped in events:
            facts.apply(stamped)
            free_memory(journal, facts, stamped)
    return facts


def free_memory(journal: Journal, facts: RunFacts, stamped: Stamped) -> None:
    """Keep messages that are not sent again only in the journal, and read them there if this event restores them."""
    if stamped.work is not None or facts.finder is not None:
        return  # these logs are short, or end soon
    if isinstance(stamped.event, ContextTrimmed | ConversationCut):
        facts.main.forget_dropped()
    elif isinstance(stamped.event, Rewound | ConversationRestored) and facts.main.is_partial:
        facts.conversations[None] = main_conversation(journal, stamped.seq)


def last_end(journal: Journal) -> RunEnded | None:
    """Return the end of the run with later undos, or None if it has not ended or was resumed since."""
    for seq, kind, body in journal.rows(_TURN, [event_name(RunEnded), event_name(RunResumed)]):
        event = decode(kind, body)
        if not isinstance(event, RunEnded):
            return None
        undos = [stamped.event for stamped in journal.read_types([Undone], after=seq)]
        return after_undos(event, [undone for undone in undos if isinstance(undone, Undone)])
    return None


def checkpoint_seq(journal: Journal) -> int:
    """Return the number of the last event in the newest checkpoint, or 0 if there is no checkpoint."""
    saved = _saved(journal)
    return saved.last_seq if saved is not None else 0


def checkpoint_bytes(journal: Journal) -> int:
    """Return the size of the newest checkpoint, or 0 if there is none."""
    return len(saved_body(journal, _FACTS) or b"")


def save(journal: Journal, facts: RunFacts) -> int:
    """Store the facts up to `facts.last_seq`; return their size in bytes, without the logs."""
    with journal.transaction():
        stored = copy(facts)
        stored.changes = copy(facts.changes)
        stored.actions = store(journal, _ACTIONS, facts.actions)
        stored.changes.standing = store(journal, _CHANGES, facts.changes.standing)
        body = msgspec.msgpack.encode(stored)
        save_body(journal, _FACTS, body)
    return len(body)


def drop_saved(journal: Journal, facts: RunFacts) -> None:
    """Free the memory of data that the journal stores. Call it after these saved facts were committed."""
    drop_stored(journal, _logs_of(facts))


def save_body(journal: Journal, row: int, body: bytes) -> None:
    """Store bytes in a row of the checkpoint."""
    with journal.transaction():
        if not journal.rows(_EXISTS):
            journal.rows(_TABLE)
        journal.write(_SAVE, [(row, made_by(), with_digest(body))])


def saved_body(journal: Journal, row: int) -> bytes | None:
    """Return the bytes in a row of the checkpoint, or None if this version cannot use them."""
    if not journal.rows(_EXISTS):
        return None
    for version, body in journal.rows("SELECT made_by, body FROM checkpoint WHERE one = ?", [row]):
        if version == made_by():
            return without_digest(body)
    return None


def finder_at(journal: Journal, seq: int) -> FinderFacts | None:
    """Return the facts of a search after that event, if the checkpoint is of that event."""
    body = saved_body(journal, _FACTS)
    try:
        found = msgspec.msgpack.decode(body, type=_OfSearch) if body is not None else None
    except (msgspec.DecodeError, TypeError):
        return None
    return found.finder if found is not None and found.last_seq == seq else None


@cache
def made_by() -> str:
    """Return the version of the stored form. A checkpoint with another version is ignored."""
    folds = (
        "requests, control, usage by named model, view, logs, workers, pass runs, tries, waits, limits, MCP, "
        "undecided, unreviewed, costs, void, stages, approvals, refused files, look first, ledger, "
        "accepted plan, awaits, time of checks, pages, called child runs, seen, passed first, time of children, reviews"
    )
    return f"{VERSION} with {folds}"


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
