"""Estimate how far a provider's count of a prompt and its reported cost may exceed ours (docs/requirements.md 3.2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise
from math import ceil
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from ..protocol import Price

FIRST_SHARE = 0.25
FIRST_TOKENS = 200
LEAST_SHARE = 0.10
LEAST_TOKENS = 50
_TRUST_SHARE, _TRUST_TOKENS = 0.01, 10
"""Reduction of the margin by each reported usage; small, because one short prompt is weak evidence for a long one."""
_SAFETY = 0.05
"""Share that is added to the worst observed ratio."""
_HIDDEN_TEXT = 2
"""A provider that bills more than this times our count for each prompt adds text of its own, to a short prompt too."""
_STEP_TOKENS = 200
"""Least growth in tokens from which the ratio of a prompt's new part is calculated."""

_LEAST_GROWTH = 0.25
"""Share by which two costs must differ so that their difference shows what more tokens cost."""


class Margin:
    """Upper bound of billed tokens, learned from (our count, billed) pairs of this run's calls.

    The margin is 25 % and 200 tokens at first, and never less than 10 %.
    """

    def __init__(self, pairs: Iterable[tuple[int, int]] = ()) -> None:
        known = [(counted, billed) for counted, billed in pairs if counted > 0]
        self._tokens = max(LEAST_TOKENS, FIRST_TOKENS - _TRUST_TOKENS * len(known))
        seen = [(billed - self._tokens) / counted - 1 for counted, billed in known]
        seen += [_slope(a, b) for a, b in pairwise(known) if b[0] - a[0] >= _STEP_TOKENS]
        worst = max((share + _SAFETY for share in seen if share > 0), default=0.0)
        self._share = max(LEAST_SHARE, FIRST_SHARE - _TRUST_SHARE * len(known), worst)
        hidden = bool(known) and all(billed > _HIDDEN_TEXT * counted for counted, billed in known)
        self._least_billed = min(billed for _, billed in known) if hidden else 0
        self._least_more = min(billed - counted for counted, billed in known) if hidden else 0

    def bound(self, counted: int) -> int:
        """Return the most tokens that the provider may bill for a prompt that we count as `counted`."""
        by_share = ceil(counted * (1 + self._share)) + self._tokens
        return max(by_share, self._least_billed, counted + self._least_more)


def expected(counted: int, newest: tuple[int, int] | None) -> int:
    """Return the tokens that the provider will probably count for a prompt that we count as `counted`.

    `newest`: our count and the provider's for the newest prompt of this model. A prompt mostly continues it, so its
    difference stays, and the new part differs by the same share, at least a tenth: of it the provider has counted
    nothing. A provider that adds a text of its own (more than twice our count) adds it once. Never less than our count.
    """
    before, billed = newest if newest is not None and newest[0] > 0 else (0, 0)
    more = max(0, billed - before)
    share = more / before if before and billed <= _HIDDEN_TEXT * before else 0.0
    return counted + more + ceil(max(0, counted - before) * max(share, LEAST_SHARE))


def most_counted(room: int, newest: tuple[int, int] | None) -> int:
    """Return the longest prompt by our count for which the provider will probably not count more than `room`."""
    low, high = 0, room
    while low < high:
        middle = (low + high + 1) // 2
        if expected(middle, newest) <= room:
            low = middle
        else:
            high = middle - 1
    return low


def with_surcharge(price: Price | None, costs: Sequence[tuple[float, float]]) -> Price | None:
    """Return the price with worst-case rates that cover the reported costs.

    `costs`: (USD by the price, USD that the provider reported) of earlier calls of this model. What exceeds the price
    counts as a fee for each call (Perplexity), unless it grows with the cost (a gateway's markup, an old price).
    """
    if price is None or not costs:
        return price
    factor = max(1.0, min((_cost_slope(a, b) for a, b in combinations(sorted(costs), 2) if _differ(a, b)), default=1.0))
    fee = max(0.0, max(reported - factor * listed for listed, reported in costs))
    if factor == 1.0 and fee <= 0:
        return price
    return msgspec.structs.replace(
        price,
        worst_input=price.worst_input * factor,
        worst_output=price.worst_output * factor,
        worst_call=fee,
    )


def _differ(smaller: tuple[float, float], larger: tuple[float, float]) -> bool:
    return larger[0] - smaller[0] >= _LEAST_GROWTH * larger[0] > 0


def _cost_slope(smaller: tuple[float, float], larger: tuple[float, float]) -> float:
    return (larger[1] - smaller[1]) / (larger[0] - smaller[0])


def _slope(before: tuple[int, int], after: tuple[int, int]) -> float:
    """Return by which share the bill for the new part of a prompt exceeds our count."""
    return (after[1] - before[1]) / (after[0] - before[0]) - 1
