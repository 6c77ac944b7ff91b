"""How a change comes into a pane: its first screens at once, the rest and the colours from threads."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterator, Sequence

from textual import events, on

from ..lines import LineView, Place, SparseStack
from .colours import Colours, considerate
from .contents import begin
from .feed import Feed
from .model import Diff, Row, Stretch
from .sheet import Sheet
from .unified import begin_text

_AT_ONCE = 1_000_000
"""Bytes that are read before the next paint; more of them in a thread."""
_AHEAD = 2
"""Screens below the present one that are coloured with it."""
_BACK = 100
_MANY_ROWS = 50_000


class LoadingPane(LineView):
    """The rows of one diff, as far as they are known."""

    stack = SparseStack

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.sheet: Sheet | None = None
        """What is drawn; None: nothing is known yet."""
        self.is_laid_split = False
        """It is drawn side by side just now."""
        self._turn = 0
        """Counts what was shown, so that a thread that comes late is not heard."""
        self._lexes = False
        self._gone = False

    # what a subclass says

    @property
    def is_split(self) -> bool:
        """It is to be drawn side by side."""
        raise NotImplementedError

    def cleared(self) -> None:
        """Another change will be shown."""

    def begun(self) -> None:
        """The first rows are there, and more will come."""

    def finished(self, diff: Diff) -> None:
        """All rows are there."""

    # what is shown

    def show_change(self, path: str, before: bytes | None, after: bytes | None) -> None:
        """The change from one content to another; None: there is no such file. Of a long one, the first hunks first."""
        self._begin(lambda: begin(path, before, after), len(before or b"") + len(after or b""))

    def show_unified(self, path: str, text: str) -> None:
        """A unified diff of one file."""
        self._begin(lambda: begin_text(path, text), len(text))

    @property
    def diff(self) -> Diff | None:
        """What is shown; None while it is still compared."""
        return self.sheet.diff if self.sheet and self.sheet.diff.complete else None

    # one column or two

    def reshaped(self) -> None:
        """There may be room for two columns now, or no longer."""
        self.rearrange()

    def rearrange(self) -> None:
        """In one column or in two, what is on top stays there."""
        if self.sheet is None or self.is_split == self.is_laid_split:
            return
        top = self.lines[0].place.item if self.lines else 0
        row = self.sheet.diff.rows[top] if top < len(self.sheet.diff.rows) else None
        self.lay_out()
        if not self.at_end:
            self.go_to(Place(top + row.beside if row is not None and row.kind == "+" else top))

    def lay_out(self) -> None:
        """All rows anew."""
        assert self.sheet is not None
        self.is_laid_split = self.is_split
        self.margin = self.sheet.margin(split=self.is_laid_split)
        self.heights.cut(0)
        self.heights.extend(self._heights_of(self.sheet.diff.rows))
        self.forget(0)

    def _heights_of(self, rows: Sequence[Row]) -> list[int]:
        if not self.is_laid_split:
            return [1] * len(rows)
        return [0 if row.beside < 0 else 1 + row.lead for row in rows]

    # rows

    @on(events.Unmount)
    def _leave(self) -> None:
        self._gone = True

    def _is_wanted(self, turn: int) -> bool:
        return turn == self._turn and self.is_attached and not self._gone

    def _begin(self, opened: Callable[[], tuple[Diff, Iterator[Stretch]]], size: int) -> None:
        self._turn += 1
        self.cleared()
        if size <= _AT_ONCE:
            feed = Feed(*opened())
            self._open(feed, *feed.first())
            return
        self.sheet = None
        self.is_laid_split = False
        self.heights.cut(0)
        self.heights.fill(1)
        self.forget(0)
        self.go_to(Place(0))
        self.run_worker(self._open_later(self._turn, opened), exit_on_error=False)

    async def _open_later(self, turn: int, opened: Callable[[], tuple[Diff, Iterator[Stretch]]]) -> None:
        def first() -> tuple[Feed, list[Stretch], bool]:
            feed = Feed(*opened())
            return feed, *feed.first()

        found = await asyncio.to_thread(first)
        if self._is_wanted(turn):
            self._open(*found)

    def _open(self, feed: Feed, first: list[Stretch], is_all: bool) -> None:
        diff = feed.diff
        diff.add(first)
        diff.complete = is_all
        self.sheet = Sheet(diff, Colours(diff.path))
        self.lay_out()
        self.go_to(Place(0))
        self.refresh()
        if is_all:
            self.finished(diff)
        else:
            self.begun()
            self.run_worker(self._fill(self._turn, feed), exit_on_error=False)
        if diff.texts is not None:
            self.run_worker(self._colour_all(self._turn, diff), exit_on_error=False)

    async def _fill(self, turn: int, feed: Feed) -> None:
        is_all = False
        while not is_all:
            stretches, is_all = await asyncio.to_thread(feed.more, lambda: self._is_wanted(turn))
            if not self._is_wanted(turn):
                return
            count = len(feed.diff.rows)
            feed.diff.add(stretches)
            self.heights.extend(self._heights_of(feed.diff.rows[count:]))
            self.repaint()
        feed.diff.complete = True
        if len(feed.diff.rows) > _MANY_ROWS:
            gc.freeze()  # to look at half a million rows takes 30 ms, each time
        self.finished(feed.diff)

    # colours

    def painted(self) -> None:
        """Ask for the colours of what is in sight."""
        if not self._lexes and self._lacking():
            self._lexes = True
            self.run_worker(self._colour(self._turn), exit_on_error=False)

    def _lacking(self) -> list[Row]:
        """Rows in sight whose colours are not known, and if there are any, those below and somewhat above too."""
        if self.sheet is None or not self.lines:
            return []
        colours, rows = self.sheet.colours, self.sheet.diff.rows
        seen = sorted({line.place.item for line in self.lines if line.place.item < len(rows)})
        beside = [rows[item + rows[item].beside] for item in seen if rows[item].beside > 0]
        if not seen or not colours.lacking([*(rows[item] for item in seen), *beside]):
            return []
        hunk = rows[seen[0]].hunk
        start = max(self.sheet.diff.hunks[hunk].row if hunk >= 0 else seen[0], seen[0] - _BACK)
        ahead = rows[start : seen[-1] + 1 + _AHEAD * self.size.height]
        return colours.lacking([*ahead, *(row for row in beside if row not in ahead)])

    async def _colour(self, turn: int) -> None:
        try:
            while self._is_wanted(turn) and (rows := self._lacking()) and self.sheet is not None:
                colours = self.sheet.colours
                wanted = considerate(lambda: self._is_wanted(turn))
                found = await asyncio.to_thread(colours.of_rows, rows, wanted)
                if self._is_wanted(turn):
                    colours.add(found)
                    self._recolour()
        finally:
            self._lexes = False
        self.repaint()

    async def _colour_all(self, turn: int, diff: Diff) -> None:
        assert diff.texts is not None and self.sheet is not None
        wanted = considerate(lambda: self._is_wanted(turn))
        found = await asyncio.to_thread(self.sheet.colours.of_texts, diff.texts, wanted)
        if self._is_wanted(turn):
            self.sheet.colours.found = found
            self.forget(0)
            self.repaint()

    def _recolour(self) -> None:
        for item in {line.place.item for line in self.lines}:
            self.redraw(item)
        self.repaint()
