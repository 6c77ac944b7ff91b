"""A pane that shows one change of a file, hunk by hunk, in one column or in two."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar
from weakref import WeakKeyDictionary

from rich.segment import Segment
from textual import events, on
from textual.app import App
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip

from ..lines import Part, Place, to_strip
from .column import ROWS_AT_ONCE
from .loading import LoadingPane
from .model import Diff, Hunk
from .sheet import HunkMark, Lines, Look

SPLIT_FROM = 120
"""Cells of the pane from which on both sides stand side by side by themselves: each has room for 52 of code."""
_ABOVE = 1
_BY_HAND: WeakKeyDictionary[App[object], bool] = WeakKeyDictionary()
"""What the person chose, for all panes of the session."""


class DiffPane(LoadingPane):
    """Line numbers, colours, changed words. Long lines wrap; nothing is cut. Only rows in sight are drawn."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right_square_bracket", "next_hunk", "next hunk", show=False, id="diff.next_hunk"),
        Binding("left_square_bracket", "previous_hunk", "previous hunk", show=False, id="diff.previous_hunk"),
        Binding("f", "full", "whole file", show=False, id="diff.full"),
        Binding("s", "split", "side by side", show=False, id="diff.split"),
        Binding("o,enter", "unfold", "unchanged lines", show=False, id="diff.unfold"),
    ]

    class Said(Message):
        """Something that a pane has to say."""

        def __init__(self, pane: DiffPane) -> None:
            super().__init__()
            self.pane = pane

        @property
        def control(self) -> DiffPane:
            """The pane."""
            return self.pane

    class Begun(Said):
        """The first rows of a long change can be seen; `Ready` will say when it is compared to its end."""

    class Ready(Said):
        """The change was compared and can be seen."""

        def __init__(self, pane: DiffPane, diff: Diff) -> None:
            super().__init__(pane)
            self.diff = diff

    class HunkMoved(Said):
        """Another hunk is the current one."""

        def __init__(self, pane: DiffPane, hunk: int) -> None:
            super().__init__(pane)
            self.hunk = hunk

    class EndSeen(Said):
        """The last row came into sight."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.marks: dict[int, HunkMark] = {}
        """Hunk to what the person made of it; a hunk without one has no sign."""
        self._current = 0
        self._near: tuple[int, ...] = ()
        self._end_seen = False

    # what is shown

    @property
    def hunks(self) -> list[Hunk]:
        """Of what is shown, as far as it is compared."""
        return self.sheet.diff.hunks if self.sheet else []

    @property
    def current(self) -> int:
        """Index of the current hunk."""
        return self._current

    @property
    def end_seen(self) -> bool:
        """The last row was in sight at least once since this change is shown."""
        return self._end_seen

    @property
    def shows_end(self) -> bool:
        """The last row is in sight just now, and no more rows will come."""
        if self.diff is None or not self.lines or len(self.lines) > self.size.height:
            return False
        item, part, row = self.lines[-1].place
        parts = self.parts(item)
        is_last = part == len(parts) - 1 and row == len(parts[-1].rows) - 1
        return is_last and self.heights.before(item + 1) == self.heights.total

    @property
    def is_split(self) -> bool:
        """Old stands on the left and new on the right: as the person chose, else where there is room and a use."""
        by_hand = _BY_HAND.get(self.owner)
        if by_hand is not None:
            return by_hand
        return self.size.width >= SPLIT_FROM and not (self.sheet and self.sheet.diff.is_one_sided)

    def mark_hunk(self, hunk: int, mark: HunkMark | None) -> None:
        """Put `◉` or `○` before a hunk's name, or nothing."""
        if mark is None:
            self.marks.pop(hunk, None)
        else:
            self.marks[hunk] = mark
        if 0 <= hunk < len(self.hunks):
            self.redraw(self.hunks[hunk].row)
            self.repaint()

    def go_to_hunk(self, hunk: int) -> None:
        """Make it the current one and show it."""
        if 0 <= hunk < len(self.hunks):
            self._make_current(hunk)
            deep = self._changed_within(hunk)
            if deep is None:
                self.go_to(Place(self.hunks[hunk].row), above=_ABOVE)
            else:
                self.go_to(deep, above=self.size.height // 3)

    def look_at_change(self) -> None:
        """Where the first hunk begins with a very long line: show what changed in it. Not once it was scrolled."""
        top = [row.kind for row in self.sheet.diff.rows[:2]] if self.sheet else []
        if self.lines and self.lines[0].place == Place(0) and self.hunks and "note" not in top:
            deep = self._changed_within(0)
            if deep is not None:
                self.go_to(deep, above=self.size.height // 3)

    def _changed_within(self, hunk: int) -> Place | None:
        """Where in a very long line the change stands; None: it is in sight wherever the hunk is."""
        if self.sheet is None or self.size.height < 1:
            return None
        item, lines = self.sheet.change_within(hunk, Look(self.text_width, self.palette, split=self.is_laid_split))
        if lines < max(4, self.size.height // 2):
            return None
        part, row = divmod(lines, ROWS_AT_ONCE)
        parts = self.parts(item)
        return Place(item, part, min(row, parts[part].height - 1)) if part < len(parts) else None

    def action_next_hunk(self) -> None:
        """The hunk below."""
        self.go_to_hunk(self._current + 1)

    def action_previous_hunk(self) -> None:
        """The hunk above."""
        self.go_to_hunk(self._current - 1)

    def action_split(self) -> None:
        """Side by side, or in one column; all panes of the session keep to it from now on."""
        _BY_HAND[self.owner] = not self.is_split
        self.rearrange()

    # folds

    def action_full(self) -> None:
        """The whole file around the changes, or only what is near them; needs both contents."""
        diff = self.diff
        if diff is None or diff.unchanged is None:
            return
        anchor, y = self._anchor()
        if any(row.kind == "fold" for row in diff.rows):
            diff.unfold_all()
        else:
            diff.fold_all()
        self._near = tuple(diff.folds_of(self._current))
        self.lay_out()
        self._return_to(anchor, y)

    def action_unfold(self) -> None:
        """Show the unchanged lines above and below the current hunk, or fold them again."""
        diff = self.diff
        if diff is None:
            return
        folds = diff.folds_of(self._current)
        closed = [row for row in folds if diff.rows[row].kind == "fold"]
        anchor, y = self._anchor()
        for row in reversed(closed or folds):
            self._toggle(row)
        self._return_to(anchor, y)

    def _toggle(self, row: int) -> None:
        assert self.sheet is not None
        diff = self.sheet.diff
        came, went = diff.unfold(row), 0
        if came:
            self.insert_items(row + 1, [1] * came)
        else:
            went = diff.fold(row)
            self.remove_items(row + 1, went)
        if came or went:
            self._near = tuple(diff.folds_of(self._current))
            self.forget(row)
            self.repaint()

    def _anchor(self) -> tuple[int, int]:
        """Rows between the current hunk's head and the first of its rows in sight, and where on the screen that is."""
        assert self.sheet is not None
        for y, line in enumerate(self.lines):
            if self.sheet.diff.rows[line.place.item].hunk == self._current:
                return line.place.item - self.hunks[self._current].row, y
        return 0, _ABOVE

    def _return_to(self, anchor: int, y: int) -> None:
        if self._current < len(self.hunks):
            self.go_to(Place(self.hunks[self._current].row + anchor), above=y)

    @on(events.Click)
    def _clicked(self, event: events.Click) -> None:
        if self.sheet is None or not 0 <= event.y < len(self.lines) or event.x >= self.size.width - 1:
            return
        row = self.lines[event.y].place.item
        if row < len(self.sheet.diff.rows) and self.sheet.diff.rows[row].kind in ("fold", "open"):
            self._toggle(row)

    # the current hunk

    def action_scroll_home(self) -> None:
        """To the first line."""
        super().action_scroll_home()
        self._make_current(0)

    def action_scroll_end(self) -> None:
        """To the last line."""
        super().action_scroll_end()
        self._make_current(len(self.hunks) - 1)

    def moved(self) -> None:
        """The current hunk stays while it is in the upper third; else it is the nearest one that is there.

        Near the end, where no scrolling brings the last hunks up, more of the screen counts.
        """
        if self.sheet is None or not self.lines:
            return
        below = self.heights.total - self.lines_above(self.lines[-1].place)
        seen = self.lines[: max(1 + self.size.height // 3, 1 + self.size.height - below)]
        rows = self.sheet.diff.rows
        found = [rows[line.place.item].hunk for line in seen if rows[line.place.item].hunk >= 0]
        if found:
            self._make_current(min(max(self._current, found[0]), found[-1]))

    def _make_current(self, hunk: int) -> None:
        if self.sheet is None or hunk == self._current or not 0 <= hunk < len(self.hunks):
            return
        before, self._current = self._current, hunk
        near, self._near = self._near, tuple(self.sheet.diff.folds_of(hunk))
        for row in (*near, *self._near, self.hunks[before].row, self.hunks[hunk].row):
            self.redraw(row)
        self.repaint()
        self.post_message(self.HunkMoved(self, hunk))

    # how it is drawn

    def build(self, item: int) -> list[Part]:
        """One row of the diff."""
        sheet, palette = self.sheet, self.palette
        if sheet is None:
            return [Part(lambda: [to_strip([(" comparing…", palette.dim)])], 1)]
        look = Look(self.text_width, palette, self.marks, self._current, self._near, self.is_laid_split)
        return [Part(partial(_strips, draw), guess) for draw, guess in sheet.parts(item, look)]

    def overlay(self, y: int, strip: Strip) -> Strip:
        """`more below` on the last row until the end was seen."""
        if y != self.size.height - 1 or self._end_seen or not self.lines:
            return strip
        words = "  more below ↓ "
        left = max(0, strip.cell_length - len(words))
        return Strip.join([strip.crop(0, left), Strip([Segment(words, self.ground + self.palette.cursor)])])

    def painted(self) -> None:
        """Remember that the end was in sight; ask for colours."""
        super().painted()
        if not self._end_seen and self.shows_end:
            self._end_seen = True
            self.refresh_row(self.size.height - 1)
            self.post_message(self.EndSeen(self))

    # as it is loaded

    def cleared(self) -> None:
        """Another change will be shown."""
        self.marks, self._current, self._near, self._end_seen = {}, 0, (), False

    def begun(self) -> None:
        """The first rows are there."""
        if self.sheet is not None:
            self._near = tuple(self.sheet.diff.folds_of(self._current))
            self.post_message(self.Begun(self))

    def finished(self, diff: Diff) -> None:
        """All rows are there."""
        self._near = tuple(diff.folds_of(self._current))
        for row in {line.place.item for line in self.lines}:
            self.redraw(row)
        self.repaint()
        self.post_message(self.Ready(self, diff))


def _strips(draw: Callable[[], Lines]) -> list[Strip]:
    return [to_strip(line) for line in draw()]
