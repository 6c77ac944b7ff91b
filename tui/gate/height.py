"""The height of the gate panel: the rows of the proposal, or the whole height of the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.widget import Widget

from .head import ROOMY, TIGHT, GateHead

if TYPE_CHECKING:
    from .body import ProposalBody
    from .foot import GateFoot

ELSEWHERE = 14
"""Rows for the header, the message box and a part of the transcript."""


class PanelHeight:
    """Fits the panel to the proposal."""

    def __init__(self, panel: Widget, head: GateHead, body: ProposalBody, foot: GateFoot) -> None:
        self._panel, self._head, self._body, self._foot = panel, head, body, foot
        self.is_full: bool | None = None
        """Whether the person wants the whole height; None: a long proposal takes it, and any one on a small screen."""
        self.takes_all = False
        """It takes the whole height, that of the transcript too."""

    def fit(self, *, editing: bool) -> None:
        """Set the height. A text that is edited takes all of it."""
        height = self._panel.screen.size.height
        room = max(height // 2, height - ELSEWHERE) - 1 - self._head.rows - self._foot.rows
        rows = self._body.rows
        is_full = (rows > room or height < TIGHT) if self.is_full is None else self.is_full
        self.takes_all = is_full or editing
        self._panel.set_class(height >= ROOMY and rows + 2 <= room, "-airy")
        self._panel.set_class(self.takes_all, "-whole")
        self._body.fill(None if self.takes_all else min(rows, room))
