"""A pane that shows one change of a file, hunk by hunk."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from functools import partial
from typing import ClassVar

from rich.segment import Segment
from textual import events, on
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip

from ..lines import LineView, Part, Place, to_strip
from .model import Diff, Hunk, Row, diff_of, lines_of
from .sheet import Colours, HunkMark, Sheet, colours_of
from .unified import diff_of_text

_AT_ONCE = 200_000
"""Bytes that are compared before the next paint; more of them in a thread."""
_LEXED_AT_ONCE = 20_000
_ABOVE = 1


class DiffPane(LineView):
    """Both line numbers, colours, changed words. Long lines wrap; nothing is cut. Only rows in sight are drawn."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right_square_bracket", "next_hunk", "next hunk", show=False, id="diff.next_hunk"),
        Binding("left_square_bracket", "previous_hunk", "previous hunk", show=False, id="diff.previous_hunk"),
        Binding("f", "full", "whole file", show=False, id="diff.full"),
    ]

    class Ready(Message):
        """The change was compared and can be seen."""

        def __init__(self, pane: DiffPane, diff: Diff) -> None:
            super().__init__()
            self.pane = pane
            self.diff = diff

        @property
        def control(self) -> DiffPane:
            """The pane."""
            return self.pane

    class HunkMoved(Message):
        """Another hunk is the current one."""

        def __init__(self, pane: DiffPane, hunk: int) -> None:
            super().__init__()
            self.pane = pane
            self.hunk = hunk

        @property
        def control(self) -> DiffPane:
            """The pane."""
            return self.pane

    class EndSeen(Message):
        """The last row came into sight."""

        def __init__(self, pane: DiffPane) -> None:
            super().__init__()
            self.pane = pane

        @property
        def control(self) -> DiffPane:
            """The pane."""
            return self.pane

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._sheet: Sheet | None = None
        self._load: Callable[[bool], Diff] | None = None
        self._contents: tuple[bytes | None, bytes | None] | None = None
        self._is_full = False
        self._turn = 0
        """Counts what was shown, so that a thread that comes late is not heard."""
        self.marks: dict[int, HunkMark] = {}
        """Hunk to what the person made of it; a hunk without one has no sign."""
        self._current = 0
        self._end_seen = False
        self._gone = False

    # what is shown

    def show_change(self, path: str, before: bytes | None, after: bytes | None) -> None:
        """The change from one content to another; None: there is no such file. Large ones are compared in a thread."""
        self._contents = (before, after)
        size = len(before or b"") + len(after or b"")
        self._begin(lambda full: diff_of(path, before, after, full=full), size)

    def show_unified(self, path: str, text: str) -> None:
        """A unified diff of one file."""
        self._contents = None
        self._begin(lambda _full: diff_of_text(path, text), len(text))

    @property
    def diff(self) -> Diff | None:
        """What is shown; None while it is still compared."""
        return self._sheet.diff if self._sheet else None

    @property
    def hunks(self) -> list[Hunk]:
        """Of what is shown."""
        return self._sheet.diff.hunks if self._sheet else []

    @property
    def current(self) -> int:
        """Index of the current hunk."""
        return self._current

    @property
    def end_seen(self) -> bool:
        """The last row was in sight at least once since this change is shown."""
        return self._end_seen

    def mark_hunk(self, hunk: int, mark: HunkMark | None) -> None:
        """Put `◉` or `○` before a hunk's name, or nothing."""
        if mark is None:
            self.marks.pop(hunk, None)
        else:
            self.marks[hunk] = mark
        self._redraw_head(hunk)

    def go_to_hunk(self, hunk: int) -> None:
        """Make it the current one and show it."""
        if not 0 <= hunk < len(self.hunks):
            return
        before, self._current = self._current, hunk
        for index in (before, hunk):
            self._redraw_head(index)
        self.go_to(Place(self.hunks[hunk].row), above=_ABOVE)
        if before != hunk:
            self.post_message(self.HunkMoved(self, hunk))

    def action_next_hunk(self) -> None:
        """The hunk below."""
        self.go_to_hunk(self._current + 1)

    def action_previous_hunk(self) -> None:
        """The hunk above."""
        self.go_to_hunk(self._current - 1)

    def action_full(self) -> None:
        """The whole file around the changes, or only what is near them; needs both contents."""
        if self._contents is None or self._load is None:
            return
        self._is_full = not self._is_full
        before, after = self._contents
        kept, marks, seen = self._current, self.marks, self._end_seen
        self._start(len(before or b"") + len(after or b""), then=partial(self._return_to, kept, marks, seen))

    # how it is drawn

    def build(self, item: int) -> list[Part]:
        """One row of the diff."""
        sheet, width = self._sheet, self.text_width
        if sheet is None:
            note = [(" comparing…", self.palette.dim)]
            return [Part(lambda: [to_strip(note)], 1)]
        row: Row = sheet.diff.rows[item]
        palette, marks, current = self.palette, self.marks, self._current

        def draw() -> list[Strip]:
            return [to_strip(line) for line in sheet.draw(item, width, palette, marks, current)]

        return [Part(draw, 1 + len(row.text) // max(10, width - self.margin))]

    def overlay(self, y: int, strip: Strip) -> Strip:
        """`more below` on the last row until the end was seen."""
        if y != self.size.height - 1 or self._end_seen or not self.lines:
            return strip
        words = "  more below ↓ "
        left = max(0, strip.cell_length - len(words))
        return Strip.join([strip.crop(0, left), Strip([Segment(words, self.ground + self.palette.cursor)])])

    def painted(self) -> None:
        """Remember that the end was in sight."""
        if self._sheet is None or self._end_seen or not self.lines:
            return
        last = self.lines[-1].place
        parts = self.parts(last.item)
        if last.item == len(self.heights) - 1 and last.row == len(parts[-1].rows) - 1:
            self._end_seen = True
            self.refresh_row(self.size.height - 1)
            self.post_message(self.EndSeen(self))

    # the inside

    @on(events.Unmount)
    def _leave(self) -> None:
        self._gone = True

    def _begin(self, load: Callable[[bool], Diff], size: int) -> None:
        self._load, self._is_full = load, False
        self.marks, self._current, self._end_seen = {}, 0, False
        self._start(size)

    def _start(self, size: int, then: Callable[[], None] | None = None) -> None:
        assert self._load is not None
        self._turn += 1
        if size <= _AT_ONCE:
            self._open(self._load(self._is_full))
            if then:
                then()
            return
        if self._sheet is not None or not len(self.heights):
            self._sheet = None
            self._refill(1)
        self.run_worker(self._later(self._turn, self._load, then), exit_on_error=False)

    async def _later(self, turn: int, load: Callable[[bool], Diff], then: Callable[[], None] | None) -> None:
        diff = await asyncio.to_thread(_without_collecting, load, self._is_full)
        if turn == self._turn:
            self._open(diff)
            if then:
                then()

    def _open(self, diff: Diff) -> None:
        self._sheet = Sheet(diff)
        self.margin = self._sheet.margin
        if not diff.hunks and not any(row.kind == "note" for row in diff.rows):
            diff.rows.insert(0, Row("note", 0, 0, "no change", -1))
        self._refill(len(diff.rows))
        self.post_message(self.Ready(self, diff))
        if diff.whole and self._contents is not None:
            self._colour(diff)

    def _refill(self, rows: int) -> None:
        self.heights.cut(0)
        self.heights.fill(rows)
        self.forget(0)
        self.go_to(Place(0))
        self.refresh()

    def _colour(self, diff: Diff) -> None:
        """Lex the whole file, for texts that begin before what is shown: at once where it is small."""
        assert self._contents is not None
        before, after = self._contents
        size = len(before or b"") + len(after or b"")
        if size <= _LEXED_AT_ONCE:
            self._paint(self._turn, _whole_colours(diff.path, before, after))
        else:
            self.run_worker(self._colour_later(self._turn, diff.path, before, after), exit_on_error=False)

    async def _colour_later(self, turn: int, path: str, before: bytes | None, after: bytes | None) -> None:
        colours = await asyncio.to_thread(_whole_colours, path, before, after, lambda: self._is_wanted(turn))
        if self._is_wanted(turn):
            self._paint(turn, colours)

    def _is_wanted(self, turn: int) -> bool:
        return turn == self._turn and self.is_attached and not self._gone

    def _paint(self, turn: int, colours: Colours) -> None:
        if turn == self._turn and self._sheet is not None:
            self._sheet.colours = colours
            self.forget(0)
            self.repaint()

    def _return_to(self, hunk: int, marks: dict[int, HunkMark], end_seen: bool) -> None:
        self._end_seen = end_seen
        if self._is_full:  # it is one long hunk now
            return
        self.marks = marks
        self.go_to_hunk(hunk)

    def _redraw_head(self, hunk: int) -> None:
        if 0 <= hunk < len(self.hunks):
            self.redraw(self.hunks[hunk].row)
            self.repaint()


def _whole_colours(
    path: str, before: bytes | None, after: bytes | None, wanted: Callable[[], bool] = lambda: True
) -> Colours:
    old, new, _ = lines_of(before, after)
    return colours_of(path, {"-": list(enumerate(old, 1)), "+": list(enumerate(new, 1))}, wanted)


def _without_collecting(load: Callable[[bool], Diff], full: bool) -> Diff:
    """All of a large diff stays: looking through it for garbage holds every key up, for 0.5 s at 400,000 rows."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        return load(full)
    finally:
        if was_on:
            gc.enable()
