"""A delay weighed against the lifetime of the prompt cache (docs/requirements.md 2.6.2)."""

from __future__ import annotations

from dataclasses import dataclass

from ..protocol import Price

SHORTEST, LONGEST = 60.0, 3600.0
"""Seconds between which a delay is kept."""
MARGIN = 30.0
"""Seconds before the end of the cache's life by which the next call has to be there."""
_TIMES = 4
"""A wait of so many lifetimes pays for a cold read."""


@dataclass(frozen=True, slots=True)
class Delay:
    """How long it sleeps."""

    seconds: float
    moved: str = ""
    """`inside` the warm window, `out` to a long wait, or nothing."""


def pace(asked: float, ttl: float | None) -> Delay:
    """The delay that is kept. `ttl`: the cache's lifetime in seconds; None: there is no cache.

    What would end between the warm window and the long wait is moved to the nearer of both, the warm one on a tie.
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
    """USD of reading that prompt again while the cache is warm, and once it is cold. None: it has no price."""
    if price is None or not (price.input or price.cached):
        return None
    return prompt_tokens * price.cached, prompt_tokens * max(price.input, price.cached)


def pays(price: Price | None) -> bool:
    """A warm read costs less than a cold one, as far as is known: only then is there a delay that is too short."""
    return price is None or not price.input or price.cached < price.input


def lifetime(ttl: float | None, price: Price | None, *, asked: bool, was_hit: bool) -> float | None:
    """Of this model's cache, seconds; None: it has none that would make a difference.

    `asked`: the user named the lifetime; `was_hit`: a call of this run read from the cache. A model whose price is
    known and the same for cached tokens has no cache that a delay could pay for.
    """
    if asked or was_hit or price is None or not price.input:
        return ttl
    return ttl if price.cached < price.input else None
