"""Counts with their nouns, and durations, the same on the screen, in messages and in what the model reads."""

from __future__ import annotations

import math
from collections.abc import Sequence


def plural(count: float, noun: str) -> str:
    """Return a count with its noun: `1 hunk`, `3 lenses`, `1,200 entries`, `0.5 days`."""
    number = f"{count:,}" if isinstance(count, int) else f"{count:,g}"
    return f"{number} {noun_for(count, noun)}"


def noun_for(count: float, noun: str) -> str:
    """Return the noun as it follows a count; of an English noun of several words the last one counts."""
    if count == 1:
        return noun
    if noun.endswith(("s", "x", "z", "ch", "sh")):
        return f"{noun}es"
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}s"


def first_names(names: Sequence[str], limit: int) -> str:
    """Return the first names of a list, and the number of the others: `a, b and 3 more`."""
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return f"{', '.join(names[:limit])}{more}"


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
