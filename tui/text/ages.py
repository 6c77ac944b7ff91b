"""How long ago something was, in words. Does not import textual."""

from __future__ import annotations

import time

from rundry.agent import plural

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_MOST_DAYS = 7
"""Days from which the date is shown."""


def age_words(then: float, now: float) -> str:
    """Return `just now`, `20 min ago`, `3 h ago`, `2 days ago` or the date. Both times are in Unix seconds."""
    seconds = max(0.0, now - then)
    if seconds < _MINUTE:
        return "just now"
    if seconds < _HOUR:
        return f"{int(seconds // _MINUTE)} min ago"
    if seconds < _DAY:
        return f"{int(seconds // _HOUR)} h ago"
    days = int(seconds // _DAY)
    return f"{plural(days, 'day')} ago" if days < _MOST_DAYS else time.strftime("%Y-%m-%d", time.localtime(then))
