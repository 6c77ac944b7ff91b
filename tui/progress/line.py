"""The line as a widget, visible only while the run sleeps or has a score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..actions.lookup import BY_NAME, shown_key
from ..head.line import PieceLine
from .words import arrange_progress

if TYPE_CHECKING:
    from rundry.agent import ViewState


class ProgressLine(PieceLine):
    """The countdown of a sleeping run, or the scores of a run that improves one."""

    DEFAULT_CSS = """
    ProgressLine { height: 1; padding: 0 1; display: none; }
    """

    def __init__(self, keymap: Mapping[str, str] | None = None) -> None:
        """`keymap`: the keys of the screen; None: no key can wake the run, as in a replay."""
        super().__init__()
        self._wake_key = "" if keymap is None else shown_key(keymap.get("wake", BY_NAME["wake"].keys))

    def show(self, state: ViewState, now: float, width: int) -> None:
        """Show the line for this state. `now`: Unix seconds; `width`: cells."""
        pieces = arrange_progress(state, now, width - 2, self._wake_key)
        self.display = bool(pieces)
        self.set_pieces(pieces)
