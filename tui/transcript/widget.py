"""The transcript: what happened so far, and what happens now at its end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events, on
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer

from rundry.agent import Block, Blocks

from ..lines import Line, LineView, Part, Place
from .entries import MARGIN, Entries, can_unfold, guess
from .markdown import prepare
from .pieces import Pieces
from .search import Found, Search

FRAME = 1 / 20
"""Seconds between two looks at what streams."""
_KEY_FIRST = 0.012
"""Seconds after a key in which what streams is not drawn: the echo of the key is."""
_LATEST = 0.1
"""Seconds after which what streams is drawn whatever is typed."""
_SEEN_ABOVE = 4
_WARM_AFTER = 0.5
_FEW = 100
_SEARCHED = 250
"""Entries that are searched in one go."""


class Transcript(LineView):
    """Draws a list of blocks that the reducer owns. Costs the same at ten blocks and at 100,000."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("k", "earlier", "earlier entry", show=False, id="transcript.earlier"),
        Binding("j", "later", "later entry", show=False, id="transcript.later"),
        Binding("enter,space", "unfold", "unfold", show=False, id="transcript.unfold"),
        Binding("o", "unfold_all", "unfold all", show=False, id="transcript.unfold_all"),
        Binding("n", "find_next", "next match", show=False, id="transcript.next"),
        Binding("N", "find_previous", "previous match", show=False, id="transcript.previous"),
        Binding("y", "copy_entry", "copy entry", show=False, id="transcript.copy"),
    ]
    margin = MARGIN
    keeps_end = True

    class Moved(Message):
        """It follows the end, or no longer does; so many entries are new below what is seen."""

        def __init__(self, transcript: Transcript, *, follows: bool, new_below: int) -> None:
            super().__init__()
            self.transcript = transcript
            self.follows = follows
            self.new_below = new_below

        @property
        def control(self) -> Transcript:
            """The transcript."""
            return self.transcript

    class Searched(Message):
        """More entries were looked through for a text; `share` of all of them."""

        def __init__(self, transcript: Transcript, found: Found, *, share: float) -> None:
            super().__init__()
            self.transcript, self.found, self.share = transcript, found, share

        @property
        def control(self) -> Transcript:
            """The transcript."""
            return self.transcript

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._blocks = Blocks()
        self._drawn: dict[int, int] = {}
        """Version of each block in memory as it was counted or drawn."""
        self._flipped: set[int] = set()
        """Blocks that the person folded or unfolded, against their own `open`."""
        self._all_open = False
        self._streams: dict[int, tuple[Pieces, list[Part], list[Part]]] = {}
        """Of growing texts: the cutter, the parts that are done, and all parts of the last look."""
        self._entries: Entries | None = None
        self._cursor: int | None = None
        self._search: Search | None = None
        self.is_searching = False
        """Older entries are being searched."""
        self._left_at = 0
        """Blocks there were when the end went out of sight."""
        self._said: tuple[bool, int] = (True, 0)
        self._flush_at: Timer | None = None
        self._changed_from: int | None = None
        self._held_until = self._flushed_at = float("-inf")

    # what is shown

    def let_key_first(self) -> None:
        """Someone pressed a key: draw its echo before what streams."""
        self._held_until = time.monotonic() + _KEY_FIRST

    def show(self, blocks: Sequence[Block], changed_from: int) -> None:
        """These are the blocks now; those before `changed_from` are as they were. Drawn within 0.1 s, at most 20 Hz.

        Fewer than before are drawn at once: the lines of one that is gone can be asked for at any time.
        """
        self._blocks = blocks if isinstance(blocks, Blocks) else Blocks(blocks)
        self._changed_from = changed_from if self._changed_from is None else min(self._changed_from, changed_from)
        is_waiting = self._flush_at is not None
        if self.is_mounted and (not is_waiting or len(blocks) < len(self.heights)):
            if not is_waiting and (held := self._held_for()):
                self._flush_at = self.set_timer(held, self._flush_again)
                return
            self._flush()
            if not is_waiting:
                self._flush_at = self.set_timer(FRAME, self._flush_again)

    @property
    def new_below(self) -> int:
        """Entries that came since the person scrolled up; 0 while the end is in sight."""
        return 0 if self.at_end else max(0, len(self._blocks) - self._left_at)

    @property
    def cursor(self) -> int | None:
        """Index of the block that `unfold` acts on: where the person stands, else the last one in sight with a fold."""
        if self._cursor is not None and self._cursor < len(self._blocks):
            return self._cursor
        seen = {line.place.item for line in self.lines}
        return max((item for item in seen if can_unfold(self._blocks[item])), default=None)

    def is_open(self, index: int) -> bool:
        """Whether a block is unfolded."""
        return (self._blocks[index].open or self._all_open) != (index in self._flipped)

    # folding

    def toggle(self, index: int) -> None:
        """Fold or unfold one block."""
        if not 0 <= index < len(self._blocks) or not can_unfold(self._blocks[index]):
            return
        self._flipped ^= {index}
        self.redraw(index)
        self.repaint()

    def action_unfold(self) -> None:
        """Fold or unfold the block at the cursor."""
        if self.cursor is not None:
            self.toggle(self.cursor)

    def action_unfold_all(self) -> None:
        """Unfold everything, or fold it again."""
        self._all_open = not self._all_open
        self._flipped.clear()
        self.forget(0)
        self.repaint()

    def action_earlier(self) -> None:
        """The cursor to the entry above."""
        self._move_cursor(-1)

    def action_later(self) -> None:
        """The cursor to the entry below."""
        self._move_cursor(1)

    def action_copy_entry(self) -> None:
        """The entry at the cursor to the clipboard, as it was written."""
        index = self.cursor if self.cursor is not None else len(self._blocks) - 1
        if 0 <= index < len(self._blocks):
            block = self._blocks[index]
            self.copy("\n".join(part for part in (block.title, block.text, block.whole_detail) if part))

    # searching

    def find(self, text: str) -> Found:
        """Look for a text, highlight it, and go to the last place at or above what is seen. Empty: no search."""
        self._search = Search(text) if text.strip() else None
        self.refresh()
        if self._search is None:
            return Found(0, 0)
        first = self._blocks.first
        self._search.look(self._blocks, first, len(self._blocks))
        self._search.nearest(self.lines[-1].place.item if self.lines else 0)
        self._go_to_hit()
        self.is_searching = first > 0
        if self.is_searching:
            self.run_worker(self._look_further(self._search, first), name="search", exclusive=True)
        return self._search.found

    async def _look_further(self, search: Search, end: int) -> None:
        """Look in the entries that are not in memory, the newest first; keys are answered meanwhile."""
        while end > 0 and search is self._search:
            start, missed = max(0, end - _SEARCHED), search.at < 0
            search.look(self._blocks, start, end)
            end = start
            self.is_searching = end > 0
            if missed and search.at >= 0:
                self._go_to_hit()
            self.post_message(self.Searched(self, search.found, share=1 - end / max(1, len(self._blocks))))
            await asyncio.sleep(0)

    def find_next(self, by: int = 1) -> Found:
        """The next match below, or above with -1; around the ends."""
        if self._search is None:
            return Found(0, 0)
        self._search.step(by)
        self._go_to_hit()
        return self._search.found

    def action_find_next(self) -> None:
        """The next match."""
        self.find_next()

    def action_find_previous(self) -> None:
        """The match before."""
        self.find_next(-1)

    # how it is drawn

    def build(self, item: int) -> list[Part]:
        """The parts of a block."""
        block, before = self._blocks[item], self._blocks[item - 1] if item else None
        if self._entries is None:
            self._entries = Entries(self.text_width, self.palette)
        if block.live and block.kind == "text":
            pieces, kept, shown = self._streams.get(item, (Pieces(), [], []))
            parts = self._entries.grown(block, before, pieces, kept)
            if parts and len(parts) == len(shown):
                parts[-1] = parts[-1].after(shown[-1])
            self._streams[item] = pieces, kept, parts
            return parts
        self._streams.pop(item, None)
        return self._entries.build(block, before, is_open=self.is_open(item))

    def forget(self, start: int) -> None:
        """Drop what is drawn from a block on; with the first of all, width and theme too."""
        super().forget(start)
        if start == 0:
            self._entries = None
            self._streams.clear()

    def matches(self, line: Line) -> list[tuple[int, int, Style]]:
        """What is looked for, highlighted."""
        if self._search is None:
            return []
        current = self._search.hits[self._search.at][0] if self._search.hits else -1
        style = self.palette.match_current if line.place.item == current else self.palette.match
        return [(start, end, style) for start, end in self._search.spans(line.strip.text[MARGIN:])]

    def overlay(self, y: int, strip: Strip) -> Strip:
        """The cursor in the gutter; `12 new below` on the last row."""
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
        """Say whether the end is in sight, when that changed."""
        if self.at_end:
            self._left_at = len(self._blocks)
        now = (self.at_end, self.new_below)
        if now != self._said:
            self._said = now
            self.refresh_row(self.size.height - 1)
            self.post_message(self.Moved(self, follows=now[0], new_below=now[1]))

    # the inside

    def _warm(self) -> None:
        self.run_worker(partial(asyncio.to_thread, prepare), exit_on_error=False)

    def on_mount(self) -> None:
        """Show what was given before there was a screen; get ready for what will come."""
        self.set_timer(_WARM_AFTER, self._warm)
        if self._changed_from is not None:
            self.call_after_refresh(self._flush)

    @on(events.Focus)
    @on(events.Blur)
    def _focus_moved(self) -> None:
        self.refresh()

    @on(events.Click)
    def _clicked(self, event: events.Click) -> None:
        if event.x >= self.size.width - 1 or not 0 <= event.y < len(self.lines) or self.text_selection is not None:
            return
        line = self.lines[event.y]
        self._cursor = line.place.item
        top = self.parts(line.place.item)
        first = 1 if len(top) > 1 and not top[0].rows[0].text.strip() else 0
        if line.place.part == first and line.place.row == 0:
            self.toggle(line.place.item)
        self.refresh()

    def _flush_again(self) -> None:
        self._flush_at = None
        if self._changed_from is not None and (held := self._held_for()):
            self._flush_at = self.set_timer(held, self._flush_again)
        elif self._changed_from is not None:
            self._flush()
            self._flush_at = self.set_timer(FRAME, self._flush_again)

    def _held_for(self) -> float:
        """Seconds by which the echo of a key comes first."""
        now = time.monotonic()
        return max(0.0, self._held_until - now) if now - self._flushed_at < _LATEST else 0.0

    def _flush(self) -> None:
        """Take in what changed since the last look."""
        start, self._changed_from = self._changed_from, None
        if start is None:
            return
        self._flushed_at = time.monotonic()
        count = len(self._blocks)
        if count < len(self.heights):
            self.heights.cut(count)
            self._flipped = {index for index in self._flipped if index < count}
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
                    self._streams.pop(index, None)
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

    def _go_to_hit(self) -> None:
        search = self._search
        if search is None or search.at < 0:
            self.refresh()
            return
        index, number = search.hits[search.at]
        place = self._place_of(index, number)
        if place is None and can_unfold(self._blocks[index]) and not self.is_open(index):
            self.toggle(index)
            place = self._place_of(index, number)
        self._cursor = index
        self.go_to(place or Place(index), above=_SEEN_ABOVE)
        self.refresh()

    def _place_of(self, index: int, number: int) -> Place | None:
        """The line of an occurrence within a block; the last one where fewer are drawn; None where none is."""
        assert self._search is not None
        last: Place | None = None
        for part, found in enumerate(self.parts(index)):
            for row, strip in enumerate(found.rows):
                for _ in self._search.spans(strip.text[MARGIN:]):
                    last = Place(index, part, row)
                    if number == 0:
                        return last
                    number -= 1
        return last
