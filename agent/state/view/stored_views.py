"""View states stored next to the events, so that a screen only reads the events after the newest one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from ..facts.checkpoint import VIEW, drop_saved, finder_at, made_by, save, save_body, saved_body
from .transcript_entries import Page
from .transcript_pages import pack, unpack

if TYPE_CHECKING:
    from ...journal.journal import Journal
    from ..facts.run_facts import RunFacts
    from ..search.finder_facts import FinderFacts
    from .view_state import ViewState

_TABLE = """
CREATE TABLE IF NOT EXISTS pages(
    seq INTEGER PRIMARY KEY, first INTEGER NOT NULL, made_by TEXT NOT NULL, state BLOB NOT NULL
) STRICT
"""
_EXISTS = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'pages'"
_ADD = "INSERT OR REPLACE INTO pages VALUES (?, ?, ?, ?)"


def stored_view(journal: Journal, *, limit: int | None, finder: FinderFacts | None = None) -> ViewState | None:
    """Return the state at the newest checkpoint, or None if all events must be folded.

    `limit`: number of blocks to keep in memory. `finder`: the facts of the search, if the caller has them. Raises
    JournalError.
    """
    body = saved_body(journal, VIEW)
    if body is None:
        return None
    try:
        state = unpack(body, limit=limit)
    except (msgspec.DecodeError, TypeError):
        return None
    if state.last_seq > journal.last_seq():
        return None
    if state.search is not None:
        state.finder = finder or finder_at(journal, state.last_seq)
        if state.finder is None:
            return None
    state.blocks.pages = _pages(journal, state.last_seq)
    return state


def store_view(journal: Journal, facts: RunFacts, state: ViewState, *, is_first: bool, with_facts: bool = True) -> int:
    """Store the state, its new pages and the run's facts in one commit. All must be of the same event.

    `is_first`: discard what an earlier version stored. `with_facts`: a view of a search needs the facts. Returns the
    size of the facts in bytes, or 0 if they were not stored. Raises JournalError.
    """
    size = 0
    pages = state.blocks.pages
    new = [(page.seq, page.first, made_by(), page.state) for page in pages if page.state is not None]
    saves_facts = with_facts or facts.finder is not None
    with journal.transaction():
        if saves_facts:
            size = save(journal, facts)
        save_body(journal, VIEW, pack(state))
        if new or is_first:
            journal.rows(_TABLE)
        if is_first:
            journal.write("DELETE FROM pages")
        if new:
            journal.write(_ADD, new)
    if saves_facts and not journal.in_transaction:  # an enclosing commit can still fail
        drop_saved(journal, facts)
    state.blocks.pages = [replace(page, state=None) if page.state is not None else page for page in pages]
    return size


def _pages(journal: Journal, upto: int) -> list[Page]:
    if not journal.rows(_EXISTS):
        return [Page(0, 0)]
    query = "SELECT first, seq FROM pages WHERE seq <= ? AND made_by = ? ORDER BY seq"
    return [Page(0, 0), *(Page(start, seq) for start, seq in journal.rows(query, [upto, made_by()]))]
