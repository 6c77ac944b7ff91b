"""Know when a proposal is painted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.widget import Widget

if TYPE_CHECKING:
    from .body import ProposalBody

_ROUNDS = 2
"""Refreshes after which the length of a proposal is taken as final."""


class Painting:
    """Waits until the proposal is laid out and drawn."""

    def __init__(self, panel: Widget, body: ProposalBody, fit: Callable[[], None]) -> None:
        """`fit` sets the height of the panel."""
        self._panel, self._body, self._fit = panel, body, fit

    def wait(self, painted: Callable[[], None], rounds: int = _ROUNDS) -> None:
        """Call `painted` once what is shown now is painted."""
        self._panel.call_after_refresh(self._drawn, painted, rounds)

    def _drawn(self, painted: Callable[[], None], rounds: int) -> None:
        # a pane that was hidden is laid out in the first refresh and drawn in the second, which then knows how long it
        # is where its lines are wrapped
        self._fit()
        if self._body.diff.display:
            self._body.diff.scroll_to_change()
        self._panel.call_after_refresh(self._measured, painted, self._body.rows, rounds)

    def _measured(self, painted: Callable[[], None], rows: int, rounds: int) -> None:
        if rounds and self._body.rows != rows:
            self._drawn(painted, rounds - 1)
        else:
            painted()
