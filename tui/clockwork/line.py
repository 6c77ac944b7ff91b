"""The line as a widget: there only while there is something to say."""

from __future__ import annotations

from rundry.agent import ViewState

from ..actions import BY_NAME, shown_key
from ..head import PieceLine
from .words import arrange_clockwork


class ClockworkLine(PieceLine):
    """A countdown, or a score."""

    DEFAULT_CSS = """
    ClockworkLine { height: 1; padding: 0 1; display: none; }
    """

    def __init__(self, keymap: dict[str, str] | None = None) -> None:
        """Without keys nobody can be woken: a replay."""
        super().__init__()
        self._wake_key = "" if keymap is None else shown_key(keymap.get("wake", BY_NAME["wake"].keys))

    def show(self, state: ViewState, now: float, width: int) -> None:
        """`now` in unix seconds, `width` in cells."""
        pieces = arrange_clockwork(state, now, width - 2, self._wake_key)
        self.display = bool(pieces)
        self.set_pieces(pieces)
