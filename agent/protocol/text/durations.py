"""Write a duration for people."""

from __future__ import annotations

import math


def duration(seconds: float) -> str:
    """Return the duration in whole units, rounded up: `48 s`, `7 min 12 s`, `2 h 5 min`."""
    whole = max(0, math.ceil(seconds))
    if whole < 120:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 120:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes + (rest > 0), 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"
