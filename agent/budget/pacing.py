"""Adjust a delay to the lifetime of the prompt cache (docs/requirements.md 2.6.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..protocol import DelayMoved, Price

SHORTEST, LONGEST = 60.0, 3600.0
"""Least and most seconds of a delay."""
MARGIN = 30.0
"""Seconds between the next call and the end of the cache's lifetime, at least."""
_TIMES = 4
"""Number of lifetimes after which a delay is long enough to justify a cold read."""


@dataclass(frozen=True, slots=True)
class Delay:
    """The delay in seconds, and whether it was moved."""

    seconds: float
    moved: DelayMoved = ""


def pace(asked: float, ttl: float | None) -> Delay:
    """Return the adjusted delay. `asked`: seconds; `ttl`: the cache's lifetime in seconds, None without a cache.

    A delay between the cache's lifetime and the long wait is moved to the nearer one, on a tie to the former.
    """
    wanted = min(max(asked, SHORTEST), LONGEST)
    if ttl is None:
        return Delay(wanted)
    warm, long = ttl - MARGIN, min(_TIMES * ttl, LONGEST)
    if wanted <= warm or wanted >= long:
        return Delay(wanted)
    if warm >= SHORTEST and wanted - warm <= long - wanted:
        return Delay(warm, "inside")
    return Delay(max(long, SHORTEST), "out")


def prices(prompt_tokens: int, price: Price | None) -> tuple[float, float] | None:
    """Return the USD for reading the prompt from the cache and without it; None if the price is unknown or zero."""
    if price is None or not (price.input or price.cached):
        return None
    return prompt_tokens * price.cached, prompt_tokens * max(price.input, price.cached)


def saves_money(price: Price | None) -> bool:
    """Return whether a warm read costs less than a cold one; True if the price is unknown."""
    return price is None or not price.input or price.cached < price.input


def lifetime(ttl: float | None, price: Price | None, *, asked: bool, was_hit: bool) -> float | None:
    """Return the lifetime of this model's cache in seconds; None if the cache does not save money.

    `asked`: the user set the lifetime; `was_hit`: a call of this run read from the cache. Otherwise a model with a
    known price must charge less for cached tokens.
    """
    if asked or was_hit or price is None or not price.input:
        return ttl
    return ttl if price.cached < price.input else None
