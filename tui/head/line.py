"""The two lines as widgets: they redraw only when what they say has changed."""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget

from rundry.agent import ViewState

from ..text import one_line
from .meters import Piece, arrange
from .title import arrange_title

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
    """One row of pieces."""

    DEFAULT_CSS = """
    PieceLine { height: 1; padding: 0 1; }
    """

    _pieces: list[Piece] = []

    def set_pieces(self, pieces: list[Piece]) -> None:
        """Redraws where they differ from what stands there."""
        if pieces != self._pieces:
            self._pieces = pieces
            self.refresh()

    def render(self) -> Content:
        """The row; data went through the border for foreign text."""
        return Content.assemble(*((piece.text, _STYLES[piece.kind]) for piece in self._pieces))


class HeaderLine(PieceLine):
    """What and who."""

    def show(self, state: ViewState, phase: str) -> None:
        """`phase` is the state's, or what the view knows better (the runner warms up, is gone)."""
        pieces = arrange_title(state, self.size.width + 2, phase)
        self.set_pieces([p if p.kind == "gap" else Piece(one_line(p.text), p.kind) for p in pieces])


class MeterLine(PieceLine):
    """What is left."""

    def show(self, state: ViewState, now: float) -> None:
        """`now` in unix seconds."""
        self.set_pieces(arrange(state, now, self.size.width + 2))
