"""The state of a view as bytes, and the pages of its transcript."""

from __future__ import annotations

import zlib
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from .block import Block
from .search_progress import Progress
from .transcript_entries import Blocks, Page
from .view_state import Shown, ViewState

if TYPE_CHECKING:
    from ...journal.journal import Journal

PAGE_BLOCKS = 250
"""Minimum number of blocks in a page, unless it reaches `PAGE_EVENTS` first."""
PAGE_EVENTS = 20_000
"""Maximum number of events in a page."""
_NAMES = tuple(each.name for each in fields(Shown))
_Packed = tuple[int, dict[int, Block], Shown]
"""The number of blocks, the blocks that can still change, and the rest of what is shown."""


def turn_page(state: ViewState, seq: int) -> None:
    """Begin a page with the event of that number, if the newest page is long enough."""
    count = len(state.blocks)
    if count - state.page_first < PAGE_BLOCKS and seq - state.page_seq <= PAGE_EVENTS:
        return
    state.page_first, state.page_seq = count, seq - 1
    if state.blocks.limit is not None:
        shown = _shown(state)
        shown.progress, shown.taken, shown.refused = Progress(workers=state.progress.workers), set(), {}
        state.blocks.pages.append(Page(count, seq - 1, zlib.compress(_packed(state, shown), 1)))


def pack(state: ViewState) -> bytes:
    """Encode the state, without the facts of a search, and only with blocks that can still change."""
    return _packed(state, _shown(state))


def unpack(packed: bytes, *, limit: int | None = None) -> ViewState:
    """Decode a packed state. `limit`: number of blocks to keep in memory. Raises msgspec.DecodeError."""
    length, still_open, shown = _decoder().decode(packed)
    found = ViewState(**{name: getattr(shown, name) for name in _NAMES})
    found.blocks = Blocks(limit=limit, first=length, still_open=still_open)
    return found


def stored_page(journal: Journal, page: Page) -> bytes | None:
    """Return the stored packed state before a page, or None if there is none. Raises JournalError."""
    rows = journal.rows("SELECT state FROM pages WHERE seq = ?", [page.seq]) if page.seq and page.state is None else []
    return bytes(rows[0][0]) if rows else None


def unpack_page(page: Page, stored: bytes | None) -> ViewState:
    """Decode the state before the first event of a page. `stored`: its bytes in the journal, if any."""
    packed = page.state or stored
    return ViewState() if packed is None else unpack(zlib.decompress(packed))


def _shown(state: ViewState) -> Shown:
    return Shown(**{name: getattr(state, name) for name in _NAMES})


def _packed(state: ViewState, shown: Shown) -> bytes:
    still_open = {index: state.blocks.in_memory_at(index) for index in state.changeable}
    return msgspec.msgpack.encode((len(state.blocks), still_open, shown))


@cache
def _decoder() -> msgspec.msgpack.Decoder[_Packed]:
    return msgspec.msgpack.Decoder(_Packed)
