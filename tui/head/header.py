"""The two lines as widgets. They redraw only when their content changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widget import Widget

from ..keys.clicks import clickable
from ..text.show_text import one_line
from .header_title import arrange_title
from .meters import Piece, arrange

if TYPE_CHECKING:
    from rundry.agent import ViewState

_STYLES = {
    "brand": "bold $bright",
    "task": "$foreground",
    "loop": "$dim",
    "goal": "$dim",
    "model": "$foreground",
    "phase": "$foreground",
    "waiting": "bold $needs-you",
    "name": "$dim",
    "number": "$foreground",
    "rest": "$dim",
    "track": "$meter-track",
    "bar": "$meter-ok",
    "amber": "$meter-warn",
    "red": "bold $meter-over",
    "passed": "$verdict-good",
    "failed": "$verdict-bad",
    "gap": "",
}


class PieceLine(Widget):
    """A row of the screen that is made of pieces of text."""

    DEFAULT_CSS = """
    PieceLine { height: 1; padding: 0 1; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._pieces: list[Piece] = []
        self._arrange: Callable[[int], list[Piece]] = lambda width: self._pieces

    def arrange_by(self, arrange: Callable[[int], list[Piece]]) -> None:
        """Set the pieces to those that `arrange` returns for a width, now and after each change of the width."""
        self._arrange = arrange
        self.on_resize()

    def on_resize(self) -> None:
        """Arrange the pieces for the present width."""
        self.set_pieces(self._arrange(self.size.width + 2))

    def set_pieces(self, pieces: list[Piece]) -> None:
        """Set the pieces, and redraw if they differ from those that are shown."""
        if pieces != self._pieces:
            self._pieces = pieces
            self.refresh()

    def render(self) -> Content:
        """Return the row. Foreign text in it has passed through `tui.text.show_text`."""
        styled = (Content.styled(piece.text, _STYLES[piece.kind]) for piece in self._pieces)
        return Content("").join(map(clickable, styled, (piece.action for piece in self._pieces)))


class HeaderLine(PieceLine):
    """The row that shows the task, the model and the phase."""

    def show(self, state: ViewState, phase: str) -> None:
        """Show the title.

        `phase` is the phase of the state, or one that only the view knows (the runner warms up, is gone).
        """

        def arranged(width: int) -> list[Piece]:
            pieces = arrange_title(state, width, phase)
            return [p if p.kind == "gap" else replace(p, text=one_line(p.text)) for p in pieces]

        self.arrange_by(arranged)


class MeterLine(PieceLine):
    """The row of meters: how much of each limit is used."""

    def show(self, state: ViewState, now: float) -> None:
        """Show the meters of a state at the Unix time `now`."""
        self.arrange_by(lambda width: arrange(state, now, width))
