"""Keep the lines of a diff pane in step with the rows of its diff: one column or two, folds, rows that are added."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.message import Message

from ..lines.line_parts import Place
from .column import ROWS_AT_ONCE

if TYPE_CHECKING:
    from ..lines.line_view import LineView
    from .diff_rows import Row
    from .diff_view import DiffView
    from .renderer import DiffRenderer

ABOVE_HUNK = 1
"""Lines above the head of a hunk that the pane scrolls to."""


class HunkClicked(Message):
    """The person clicked on a hunk; `is_title`: on its name, which has the mark."""

    def __init__(self, hunk: int, *, is_title: bool) -> None:
        super().__init__()
        self.hunk = hunk
        self.is_title = is_title


class HunkMoved(Message):
    """Another hunk became the current one."""

    def __init__(self, hunk: int) -> None:
        super().__init__()
        self.hunk = hunk


_TITLE_FROM = 3
"""Height of the pane, in rows, from which a title may cover the top row."""


class DiffLayout:
    """Tells the pane how many lines each row has, and keeps what is visible where it is."""

    def __init__(self, pane: LineView, view: DiffView) -> None:
        self._pane, self._view = pane, view

    def show_waiting(self) -> None:
        """Show the placeholder line of a change whose rows are not known yet."""
        self._view.is_split = False
        self._pane.replace_items([1], margin=self._pane.margin)
        self._pane.go_to(Place(0))

    def open(self, renderer: DiffRenderer, *, split: bool) -> None:
        """Show another diff from its start."""
        self._view.renderer = renderer
        self._view.find_near_folds()
        self._lay_out(renderer, split=split)
        self._pane.go_to(Place(0))
        self._pane.refresh()

    def add(self, rows: Sequence[Row]) -> None:
        """Add lines for rows that became known, below the rest."""
        self._pane.heights.extend(self._view.heights(rows))
        self._pane.repaint()

    def arrange(self, *, split: bool) -> None:
        """Use one column or two. The top row stays where it is."""
        renderer, pane = self._view.renderer, self._pane
        if renderer is None or split == self._view.is_split:
            return
        top = pane.lines[0].place.item if pane.lines else 0
        row = renderer.diff.rows[top] if top < len(renderer.diff.rows) else None
        self._lay_out(renderer, split=split)
        if not pane.at_end:
            pane.go_to(Place(top + row.beside if row is not None and row.kind == "+" else top))

    def _lay_out(self, renderer: DiffRenderer, *, split: bool) -> None:
        self._view.is_split = split
        self._pane.replace_items(self._view.heights(renderer.diff.rows), margin=renderer.margin(split=split))

    def go_to_hunk(self, hunk: int) -> None:
        """Scroll to a hunk; if it begins with a very long line, to what changed in it."""
        if not self.go_to_change(hunk):
            self._pane.go_to(Place(self._view.hunks[hunk].row), above=ABOVE_HUNK)

    def go_to_change(self, hunk: int) -> bool:
        """Scroll to the change within a very long line. Return False if it is visible wherever the hunk is."""
        pane, renderer = self._pane, self._view.renderer
        if renderer is None or pane.size.height < 1:
            return False
        item, lines = renderer.change_within(hunk, self._view.options(pane.text_width, pane.palette))
        if lines < max(4, pane.size.height // 2):
            return False
        part, row = divmod(lines, ROWS_AT_ONCE)
        parts = pane.parts(item)
        if part < len(parts):
            pane.go_to(Place(item, part, min(row, parts[part].height - 1)), above=pane.size.height // 3)
        return part < len(parts)

    def nearest_hunk(self) -> int | None:
        """Return the hunk that should be current after a scroll, or None if no hunk is visible.

        The current hunk stays while it is in the upper third, else it is the nearest one that is there. Near the end,
        where no scrolling brings the last hunks up, a larger part of the screen counts. If the upper third has only
        unchanged lines, the first hunk below them counts.
        """
        pane, view = self._pane, self._view
        lines = pane.lines
        if not view.rows or not lines:
            return None
        height = pane.size.height
        below = pane.heights.total - pane.lines_above(lines[-1].place)
        items = [line.place.item for line in lines]
        if view.rows[items[0]].kind != "head" and height >= _TITLE_FROM:
            items[0] = items[min(1, len(items) - 1)]  # a title may cover it
        found = view.hunk_among(items[: max(1 + height // 3, 1 + height - below)])
        if found is None:
            found = next((view.rows[item].hunk for item in items if view.rows[item].hunk >= 0), None)
        return found

    @property
    def has_title_above(self) -> bool:
        """Whether the top row is of the current hunk, but its title is above, so that the title covers the top row."""
        lines, view = self._pane.lines, self._view
        if not lines or self._pane.size.height < _TITLE_FROM:
            return False
        return view.has_current([lines[0].place.item]) and not view.is_title(lines[0].place)

    @property
    def marks_current(self) -> bool:
        """Whether the title of the current hunk is visible."""
        return self.has_title_above or any(self._view.is_title(line.place) for line in self._pane.lines)

    def toggle_fold(self, row: int) -> None:
        """Open or close the fold at a row."""
        change = self._view.toggle_fold(row)
        if change > 0:
            self._pane.insert_items(row + 1, [1] * change)
        elif change < 0:
            self._pane.remove_items(row + 1, -change)
        if change:
            self._pane.forget(row)
            self._pane.repaint()

    def toggle_near_folds(self) -> None:
        """Open the folds next to the current hunk, or close them if none is closed."""
        anchor, y = self._anchor()
        for row in reversed(self._view.folds()):
            self.toggle_fold(row)
        self._return_to(anchor, y)

    def toggle_all_folds(self) -> None:
        """Open all folds, or close them if none is closed."""
        renderer, (anchor, y) = self._view.renderer, self._anchor()
        if renderer is not None and self._view.toggle_all_folds():
            self._lay_out(renderer, split=self._view.is_split)
            self._return_to(anchor, y)

    def close_all_folds(self) -> bool:
        """Close the folds that are open. Return False if none is."""
        renderer, (anchor, y) = self._view.renderer, self._anchor()
        if renderer is None or not self._view.has_open_folds:
            return False
        self._view.close_all_folds()
        self._lay_out(renderer, split=self._view.is_split)
        self._return_to(anchor, y)
        return True

    def _anchor(self) -> tuple[int, int]:
        """Return the first visible row of the current hunk, counted from its head, and its line on the screen."""
        rows, current = self._view.rows, self._view.current
        for y, line in enumerate(self._pane.lines if rows else ()):
            if rows[line.place.item].hunk == current:
                return line.place.item - self._view.hunks[current].row, y
        return 0, ABOVE_HUNK

    def _return_to(self, anchor: int, y: int) -> None:
        if self._view.current < len(self._view.hunks):
            self._pane.go_to(Place(self._view.hunks[self._view.current].row + anchor), above=y)
