"""How much room the text of a dialog has on a screen. Does not import textual."""

from __future__ import annotations

_SHARE = 96
"""Maximum share of the screen's width that a dialog takes, in percent."""
_PADDING = 4
"""Cells at the left and right edge of a dialog together."""


def inner_width(screen: int, limit: int) -> int:
    """Return the cells of a row of text, on a screen with this width, in a dialog of at most `limit` cells."""
    return max(1, min(limit, screen * _SHARE // 100) - _PADDING)
