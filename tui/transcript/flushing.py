"""Limit how often a widget draws what streams: at most 20 times a second, and not right after a key."""

from __future__ import annotations

import time
from collections.abc import Callable

from textual.timer import Timer
from textual.widget import Widget

FRAME = 1 / 20
"""Seconds between two flushes."""
_KEY_FIRST = 0.012
"""Seconds after a key in which nothing is flushed, so that the echo of the key is drawn first."""
_LATEST = 0.1
"""Seconds after the last flush from which on a key no longer delays the next one."""


class FlushTimer:
    """Calls `flush` soon after it is requested."""

    def __init__(self, widget: Widget, flush: Callable[[], None]) -> None:
        self._widget = widget
        self._flush = flush
        self._timer: Timer | None = None
        self._is_requested = False
        self._delayed_until = self._flushed_at = float("-inf")
        """Times of the monotonic clock."""

    def delay_for_key(self) -> None:
        """Delay the next flush, because a key was pressed and its echo is to be drawn first."""
        self._delayed_until = time.monotonic() + _KEY_FIRST

    def request(self, *, immediately: bool) -> None:
        """Flush now if the last flush is old enough, else when it is. `immediately`: even if it is not."""
        self._is_requested = True
        is_waiting = self._timer is not None
        if is_waiting and not immediately:
            return
        delay = 0.0 if is_waiting else self._delay()
        if not delay:
            self.flush()
        if not is_waiting:
            self._timer = self._widget.set_timer(delay or FRAME, self._on_timer)

    def flush(self) -> None:
        """Flush without a check of the time."""
        self._is_requested = False
        self._flushed_at = time.monotonic()
        self._flush()

    def _on_timer(self) -> None:
        self._timer = None
        if self._is_requested:
            self.request(immediately=False)

    def _delay(self) -> float:
        now = time.monotonic()
        return max(0.0, self._delayed_until - now) if now - self._flushed_at < _LATEST else 0.0
