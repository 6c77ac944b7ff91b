"""The transcript: the events of the run so far, and at its end those in progress."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from rich.segment import Segment
from rich.style import Style
from textual import events, on
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer

from rundry.agent import Block, Blocks

from ..keys.letters import LetterKeys
from ..keys.lookup import keys_of
from ..lines.line_parts import Line, Part, Place
from ..lines.line_view import LineView
from .draw_entries import MARGIN, Entries, can_unfold, guess
from .draw_markdown import prepare
from .markdown_pieces import Pieces
from .transcript_search import Found, Search

_SEEN_ABOVE = 4
_WARM_AFTER = 0.5
_FEW = 100
_BATCH = 250
"""Entries that are searched between two keys."""
_FRAME = 1 / 20
"""Seconds between two flushes."""
_KEY_FIRST = 0.012
"""Seconds after a key in which nothing is flushed, so that the echo of the key is drawn first."""
_LATEST = 0.1
"""Seconds after the last flush from which on a key no longer delays the next one."""
_MOVES = frozenset({"earlier", "later", "next_match", "previous_match"})
"""Actions that change nothing but what is in sight: a letter carries them out immediately."""


class Transcript(LineView):
    """Draws a list of blocks that the reducer owns. The cost does not depend on the number of blocks."""

    margin = MARGIN
    keeps_end = True

    class Moved(Message):
        """It started or stopped to follow the end, or the number of new entries below the visible ones changed."""

        def __init__(self, *, follows: bool, new_below: int) -> None:
            super().__init__()
            self.follows = follows
            self.new_below = new_below

    class Searched(Message):
        """Older entries were searched; `share` is the part of all entries that was searched so far."""

        def __init__(self, found: Found, *, share: float) -> None:
            super().__init__()
            self.found, self.share = found, share

    def __init__(self, *, keys: Mapping[str, str] | None = None) -> None:
        """`keys`: key to the name of its action."""
        super().__init__()
        self._blocks, self._parts = Blocks(), _BlockParts()
        self._drawn: dict[int, int] = {}
        """The version of each block in memory when its lines were last counted or drawn."""
        self._entries: Entries | None = None
        self._cursor: int | None = None
        self._finder = _Finder(self)
        self.keyboard = _Keyboard(self, keys)
        self._left_at = 0
        """The number of blocks when the end was last visible."""
        self._reported: tuple[bool, int] = (True, 0)
        self._changed_from: int | None = None
        """Index of the first block that changed since the last flush, or None if none changed."""
        self._flush_timer = _FlushTimer(self)

    def let_key_first(self) -> None:
        """Draw the echo of a key that was just pressed before what streams."""
        self._flush_timer.delay_for_key()

    def show(self, blocks: Sequence[Block], changed_from: int) -> None:
        """Show these blocks. Those before `changed_from` are as they were.

        They are drawn within 0.1 s, at most 20 times a second. If there are fewer than before, they are drawn
        immediately: the lines of a block that is gone can be asked for at any time.
        """
        self._blocks = blocks if isinstance(blocks, Blocks) else Blocks(blocks)
        self._changed_from = changed_from if self._changed_from is None else min(self._changed_from, changed_from)
        if self.is_mounted:
            self._flush_timer.request(immediately=len(blocks) < len(self.heights))

    @property
    def new_below(self) -> int:
        """The number of entries added since the person scrolled up; 0 while the end is visible."""
        return 0 if self.at_end else max(0, len(self._blocks) - self._left_at)

    @property
    def cursor(self) -> int | None:
        """Index of the block that `unfold` acts on: the chosen one, else the last visible one that can be unfolded."""
        if self._cursor is not None and self._cursor < len(self._blocks):
            return self._cursor
        seen = {line.place.item for line in self.lines}
        return max((item for item in seen if can_unfold(self._blocks[item])), default=None)

    def is_open(self, index: int) -> bool:
        """Whether a block is unfolded."""
        return self._parts.is_open(index, self._blocks[index])

    def toggle(self, index: int) -> None:
        """Fold or unfold one block."""
        if not 0 <= index < len(self._blocks) or not can_unfold(self._blocks[index]):
            return
        self._parts.toggle(index)
        self.redraw(index)
        self.repaint()

    def action_unfold(self) -> None:
        """Fold or unfold the block at the cursor."""
        if self.cursor is not None:
            self.toggle(self.cursor)

    def action_unfold_all(self) -> None:
        """Unfold all entries, or fold them again."""
        self._parts.toggle_all()
        self.forget(0)
        self.repaint()

    def copy_entry(self) -> None:
        """Copy the entry at the cursor to the clipboard, as it was written."""
        index = self.cursor if self.cursor is not None else len(self._blocks) - 1
        if 0 <= index < len(self._blocks):
            block = self._blocks[index]
            self.copy("\n".join(part for part in (block.title, block.text, block.whole_detail) if part))

    @property
    def is_searching(self) -> bool:
        """Whether older entries are still being searched."""
        return self._finder.is_searching

    def find(self, text: str) -> Found:
        """Search for a text and go to the last match above the visible end. An empty text ends the search."""
        return self._finder.find(text, self._blocks, self.lines[-1].place.item if self.lines else 0)

    def find_next(self, by: int = 1) -> Found:
        """Go to the next match below, or above with -1. After the last match comes the first."""
        return self._finder.step(by)

    def do(self, name: str) -> None:
        """Carry out an action of the transcript."""
        table: dict[str, Callable[[], object]] = {
            "earlier": partial(self._move_cursor, -1),
            "later": partial(self._move_cursor, 1),
            "fold": self.action_unfold,
            "fold_all": self.action_unfold_all,
            "next_match": self.find_next,
            "previous_match": partial(self.find_next, -1),
            "copy_entry": self.copy_entry,
            "to_message": partial(self.keyboard.leave, ""),
        }
        table[name]()

    async def _on_key(self, event: events.Key) -> None:
        self.keyboard.press(event)

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        self.keyboard.leave(event.text)

    def build(self, item: int) -> list[Part]:
        """Return the parts of a block."""
        block, before = self._blocks[item], self._blocks[item - 1] if item else None
        if self._entries is None:
            self._entries = Entries(self.text_width, self.palette)
        return self._parts.build(self._entries, item, block, before)

    def forget(self, start: int) -> None:
        """Drop what was drawn from a block on. From block 0 on, also what depends on the width and the theme."""
        super().forget(start)
        if start == 0:
            self._entries = None
            self._parts.forget_streams()

    def matches(self, line: Line) -> list[tuple[int, int, Style]]:
        """Return where the searched text occurs in a line, with the style of its highlight."""
        search = self._finder.search
        if search is None:
            return []
        current = search.hits[search.at][0] if search.hits else -1
        style = self.palette.match_current if line.place.item == current else self.palette.match
        return [(start, end, style) for start, end in search.spans(line.strip.text[MARGIN:])]

    def overlay(self, y: int, strip: Strip) -> Strip:
        """Draw the cursor in the gutter, and `12 new below` on the last row."""
        palette, ground = self.palette, self.ground
        if self.has_focus and self._at_cursor(y):
            strip = Strip.join([Strip([Segment("▌", ground + palette.cursor)]), strip.crop(1)])
        if y == self.size.height - 1 and not self.at_end:
            count = self.new_below
            words = f"  {count} new below  ↓ end " if count else "  ↓ end "
            style = ground + (palette.needs_you if count else palette.dim)
            strip = Strip.join([strip.crop(0, max(0, strip.cell_length - len(words))), Strip([Segment(words, style)])])
        return strip

    def _at_cursor(self, y: int) -> bool:
        if y >= len(self.lines) or self.lines[y].place.item != self.cursor:
            return False
        place = self.lines[y].place
        return place.part > 0 or bool(self.lines[y].strip.text.strip())

    def painted(self) -> None:
        """Send `Moved` if the end became visible or hidden, or entries were added below."""
        if self.at_end:
            self._left_at = len(self._blocks)
        now = follows, new_below = self.at_end, self.new_below
        if now != self._reported:
            self._reported = now
            self.refresh_row(self.size.height - 1)
            self.post_message(self.Moved(follows=follows, new_below=new_below))

    def on_mount(self) -> None:
        """Show the blocks that were given before the widget was mounted, and import what drawing needs."""
        warm = partial(self.run_worker, partial(asyncio.to_thread, prepare), exit_on_error=False)
        self.set_timer(_WARM_AFTER, warm)
        if self._changed_from is not None:
            self.call_after_refresh(self._flush_timer.flush)

    @on(events.Focus)
    @on(events.Blur)
    def _focus_moved(self) -> None:
        self.keyboard.focused()
        self.refresh()

    @on(events.Click)
    def _clicked(self, event: events.Click) -> None:
        if event.x >= self.size.width - 1 or not 0 <= event.y < len(self.lines) or self.text_selection is not None:
            return
        place = self.lines[event.y].place
        self._cursor = place.item
        top = self.parts(place.item)
        first = 1 if len(top) > 1 and not top[0].rows[0].text.strip() else 0
        if (place.part, place.row) == (first, 0):
            self.toggle(place.item)
        self.refresh()

    def flush(self) -> None:
        """Count the lines of the blocks that changed since the last flush, and draw the visible ones."""
        start, self._changed_from = self._changed_from, None
        if start is None:
            return
        count = len(self._blocks)
        if count < len(self.heights):
            self.heights.cut(count)
            self._parts.cut(count)
            start = min(start, count)
            super().forget(count)
        width, known = self.text_width, len(self.heights)
        self.heights.fill(max(0, self._blocks.first - known))
        for index in self._blocks.in_memory(start):
            block = self._blocks[index]
            if index >= known and index >= self._blocks.first:
                self.heights.append(guess(block, width))
            elif block.version != self._drawn.get(index):
                if not block.live:  # out of sight it is not built again
                    self._parts.end_stream(index)
                self.redraw(index)
            self._drawn[index] = block.version
        if len(self._drawn) > 2 * (count - self._blocks.first) + _FEW:
            self._drawn = {index: self._drawn[index] for index in self._blocks.in_memory(0) if index in self._drawn}
        self.repaint()

    def _move_cursor(self, by: int) -> None:
        seen = [line.place.item for line in self.lines]
        if not seen:
            return
        at = self._cursor if self._cursor is not None and seen[0] <= self._cursor <= seen[-1] else None
        start = (seen[-1] + 1 if by < 0 else seen[0] - 1) if at is None else at
        self._cursor = min(len(self._blocks) - 1, max(0, start + by))
        if self._cursor not in seen:
            self.go_to(Place(self._cursor), above=0 if by < 0 else self.size.height - 2)
        self.refresh()

    def go_to_match(self, search: Search) -> None:
        """Go to the current match of a search; without one, only draw the others."""
        if search.at < 0:
            self.refresh()
            return
        index, number = search.hits[search.at]
        place = search.place(index, number, self.parts(index))
        if place is None and can_unfold(self._blocks[index]) and not self.is_open(index):
            self.toggle(index)
            place = search.place(index, number, self.parts(index))
        self._cursor = index
        self.go_to(place or Place(index), above=_SEEN_ABOVE)
        self.refresh()


class _BlockParts:
    """Builds the parts of blocks: knows which are unfolded, and keeps those of a text that grows.

    The person's folding counts against what a block says about itself.
    """

    def __init__(self) -> None:
        self._toggled: set[int] = set()
        """Indexes of the blocks that the person folded or unfolded."""
        self._all_open = False
        self._streams: dict[int, tuple[Pieces, list[Part], list[Part]]] = {}
        """For each growing text: its pieces, the parts that will not change again, and all parts as last built."""

    def is_open(self, index: int, block: Block) -> bool:
        """Return whether a block is unfolded."""
        return (block.open or self._all_open) != (index in self._toggled)

    def toggle(self, index: int) -> None:
        """Fold or unfold one block."""
        self._toggled ^= {index}

    def toggle_all(self) -> None:
        """Unfold all blocks, or show each as it was at first."""
        self._all_open = not self._all_open
        self._toggled.clear()

    def cut(self, count: int) -> None:
        """Forget the folding of the blocks from this index on, because they are gone."""
        self._toggled = {index for index in self._toggled if index < count}

    def end_stream(self, index: int) -> None:
        """Forget the parts of a text that no longer grows."""
        self._streams.pop(index, None)

    def forget_streams(self) -> None:
        """Forget the parts of all growing texts: their width or their colours changed."""
        self._streams.clear()

    def build(self, entries: Entries, index: int, block: Block, before: Block | None) -> list[Part]:
        """Return the parts of a block that is shown below `before`. Those of a growing text are kept."""
        if not block.live or block.kind != "text":
            self.end_stream(index)
            return entries.build(block, before, is_open=self.is_open(index, block))
        pieces, kept, shown = self._streams.get(index, (Pieces(), [], []))
        parts = entries.grown(block, before, pieces, kept)
        if parts and len(parts) == len(shown):
            parts[-1] = parts[-1].after(shown[-1])
        self._streams[index] = pieces, kept, parts
        return parts


class _Finder:
    """Searches the entries in memory immediately, and older ones while keys are handled; a new search ends the last."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self.search: Search | None = None
        """The search whose matches are highlighted."""
        self.is_searching = False
        """Older entries are being searched."""

    def find(self, text: str, blocks: Blocks, block: int) -> Found:
        """Go to the last match at or above a block. An empty text ends the search."""
        self.search = search = Search(text) if text.strip() else None
        self._transcript.refresh()
        if search is None:
            return Found(0, 0)
        first = blocks.first
        search.add_matches(blocks, first, len(blocks))
        search.nearest(block)
        self._transcript.go_to_match(search)
        self.is_searching = first > 0
        if self.is_searching:
            self._transcript.run_worker(self._search_older(search, blocks, first), name="search", exclusive=True)
        return search.found

    def step(self, by: int) -> Found:
        """Go to the next match below, or above with -1. After the last match comes the first."""
        if self.search is None:
            return Found(0, 0)
        self.search.step(by)
        self._transcript.go_to_match(self.search)
        return self.search.found

    async def _search_older(self, search: Search, blocks: Blocks, end: int) -> None:
        """Search the entries that are not in memory, the newest first."""
        while end > 0 and search is self.search:
            start, had_match = max(0, end - _BATCH), search.at >= 0
            search.add_matches(blocks, start, end)
            end = start
            self.is_searching = end > 0
            if search.at >= 0 and not had_match:
                self._transcript.go_to_match(search)
            share = 1 - end / max(1, len(blocks))
            self._transcript.post_message(Transcript.Searched(search.found, share=share))
            await asyncio.sleep(0)


class _FlushTimer:
    """Flushes the transcript soon after it is requested: at most 20 times a second, and not right after a key."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._timer: Timer | None = None
        self._is_requested = False
        self._delayed_until = self._flushed_at = float("-inf")
        """Times of the monotonic clock."""

    def delay_for_key(self) -> None:
        """Delay the next flush, because a key was pressed and its echo is to be drawn first."""
        self._delayed_until = time.monotonic() + _KEY_FIRST

    def request(self, *, immediately: bool) -> None:
        """Flush now if the last flush is old enough, else when it is. `immediately`: even if it is not."""
        self._is_requested = True
        is_waiting = self._timer is not None
        if is_waiting and not immediately:
            return
        delay = 0.0 if is_waiting else self._delay()
        if not delay:
            self.flush()
        if not is_waiting:
            self._timer = self._transcript.set_timer(delay or _FRAME, self._on_timer)

    def flush(self) -> None:
        """Flush without a check of the time."""
        self._is_requested = False
        self._flushed_at = time.monotonic()
        self._transcript.flush()

    def _on_timer(self) -> None:
        self._timer = None
        if self._is_requested:
            self.request(immediately=False)

    def _delay(self) -> float:
        now = time.monotonic()
        return max(0.0, self._delayed_until - now) if now - self._flushed_at < _LATEST else 0.0


class _Keyboard(LetterKeys):
    """Decides what a key in the transcript means: an action, scrolling, or the first letter of a message."""

    def __init__(self, transcript: Transcript, keys: Mapping[str, str] | None) -> None:
        """`keys`: key to the name of its action, or None for the defaults."""
        super().__init__(transcript)
        self._transcript = transcript
        self._enter: Callable[[], bool] = lambda: False
        self._actions = keys_of("transcript", {}) if keys is None else keys

    def carry_out(self, action: str, at: float) -> None:
        """Carry out the action."""
        self._transcript.do(action)

    def on_enter(self, enter: Callable[[], bool]) -> None:
        """Call `enter` before Enter unfolds the chosen entry; it returns whether it did something else."""
        self._enter = enter

    def press(self, event: events.Key) -> None:
        """Handle a key that is an action or a letter."""
        types, action = event.character if event.is_printable else None, self._actions.get(event.key)
        is_letter = bool(types and types.isalpha())
        if self.follow(event) or (event.key == "enter" and action is not None and self._enter()):
            pass
        elif action in _MOVES or (action is not None and not is_letter):
            self._transcript.do(action)
            self.moved(event)
        elif action is not None:
            self.hold(action, event)
        elif self.continues_word(event, moves=False):
            pass
        elif types:
            self.leave(types)
        else:
            return
        event.stop()
        event.prevent_default()
