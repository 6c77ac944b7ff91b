"""Highlight the code of a diff pane in threads: the visible rows first, then the whole file."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from .line_colours import considerate

if TYPE_CHECKING:
    from ..lines.line_view import LineView
    from .diff_rows import DiffSource, Row
    from .renderer import DiffRenderer

_SCREENS_AHEAD = 2
"""Screens below the visible rows that are highlighted with them."""
_ROWS_ABOVE = 100


class Highlighter:
    """The colours of one diff at a time. Results for a diff that is no longer shown are discarded."""

    def __init__(self, pane: LineView) -> None:
        self._pane = pane
        self._sheet: DiffRenderer | None = None
        self._is_running = False

    def start(self, renderer: DiffRenderer) -> None:
        """Highlight this diff from now on."""
        self._sheet = renderer
        source = renderer.diff.source
        if source is not None and not source.is_long:
            self._pane.run_worker(self._highlight_all(renderer, source), exit_on_error=False)

    def stop(self) -> None:
        """Stop highlighting, and ignore what threads return."""
        self._sheet = None

    def highlight_visible(self) -> None:
        """Start a thread for the visible rows if the colours of one are not known."""
        if self._sheet is not None and not self._is_running and self._missing(self._sheet):
            self._is_running = True
            self._pane.run_worker(self._highlight(self._sheet), exit_on_error=False)

    def _is_wanted(self, renderer: DiffRenderer) -> bool:
        return renderer is self._sheet and self._pane.is_attached

    def _missing(self, renderer: DiffRenderer) -> list[Row]:
        """Return rows without colours: empty if all visible ones have them, else also some above and below."""
        colours, rows = renderer.colours, renderer.diff.rows
        seen = sorted({line.place.item for line in self._pane.lines if line.place.item < len(rows)})
        partners = [rows[item + rows[item].beside] for item in seen if rows[item].beside > 0]
        if not seen or not colours.lacking([*(rows[item] for item in seen), *partners]):
            return []
        hunk = rows[seen[0]].hunk
        start = max(renderer.diff.hunks[hunk].row if hunk >= 0 else seen[0], seen[0] - _ROWS_ABOVE)
        ahead = rows[start : seen[-1] + 1 + _SCREENS_AHEAD * self._pane.size.height]
        return colours.lacking([*ahead, *(row for row in partners if row not in ahead)])

    async def _highlight(self, renderer: DiffRenderer) -> None:
        try:
            while self._is_wanted(renderer) and (rows := self._missing(renderer)):
                wanted = considerate(lambda: self._is_wanted(renderer))
                found = await asyncio.to_thread(renderer.colours.of_rows, rows, wanted)
                if self._is_wanted(renderer):
                    renderer.colours.add(found)
                    self._pane.redraw_visible()
        finally:
            self._is_running = False
        self._pane.repaint()

    async def _highlight_all(self, renderer: DiffRenderer, source: DiffSource) -> None:
        wanted = considerate(lambda: self._is_wanted(renderer))
        found = await asyncio.to_thread(renderer.colours.of_source, source, wanted)
        if self._is_wanted(renderer):
            renderer.colours.found = found
            self._pane.forget(0)
            self._pane.repaint()
