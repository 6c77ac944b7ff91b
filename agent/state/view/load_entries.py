"""Rebuild older parts of a transcript from the events of a journal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .reduce import show_event
from .transcript_entries import IN_MEMORY
from .transcript_pages import stored_page, unpack_page

if TYPE_CHECKING:
    from ...journal.journal import Journal
    from .block import Block
    from .view_state import ViewState

_BATCH = 2_000
_LATE_EVENTS = 20_000
"""Number of events after a page in which to look for the end of its last blocks."""


def load_older(state: ViewState, journal: Journal) -> None:
    """Keep only the newest blocks in memory; rebuild the others from this journal when needed."""
    state.blocks.limit = state.blocks.limit or IN_MEMORY
    state.blocks.load = lambda place: _blocks_of_page(state, journal, place)


def _blocks_of_page(state: ViewState, journal: Journal, place: int) -> Sequence[Block]:
    """Return the blocks of a page as of the state's newest event. Raises JournalError."""
    pages = state.blocks.pages
    page = pages[place]
    end = pages[place + 1].first if place + 1 < len(pages) else len(state.blocks)
    past = unpack_page(page, stored_page(journal, page))
    past.blocks.pages, past.blocks.load = pages, state.blocks.load
    past.finder = state.finder  # for the titles of findings: `show_event` does not change it
    seq, late = past.last_seq, 0
    while events := journal.read(seq, _BATCH):
        for stamped in events:
            if stamped.seq > state.last_seq or late > _LATE_EVENTS:
                return past.blocks[page.first : end]
            show_event(past, stamped)
            if len(past.blocks) >= end:
                late += 1
                if not any(page.first <= index < end for index in past.changeable):
                    return past.blocks[page.first : end]
        seq = events[-1].seq
    return past.blocks[page.first : end]
