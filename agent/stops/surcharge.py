"""Estimate how far the cost that a provider reports may exceed the cost by the price (docs/requirements.md 3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from ..protocol import Price

_LEAST_GROWTH = 0.25
"""Share by which two costs must differ so that their difference shows what more tokens cost."""


def with_surcharge(price: Price | None, costs: Sequence[tuple[float, float]]) -> Price | None:
    """Return the price with worst-case rates that cover the reported costs.

    `costs`: (USD by the price, USD that the provider reported) of earlier calls of this model. What exceeds the price
    counts as a fee for each call (Perplexity), unless it grows with the cost (a gateway's markup, an old price).
    """
    if price is None or not costs:
        return price
    factor = max(1.0, min((_slope(a, b) for a, b in combinations(sorted(costs), 2) if _differ(a, b)), default=1.0))
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


def _slope(smaller: tuple[float, float], larger: tuple[float, float]) -> float:
    return (larger[1] - smaller[1]) / (larger[0] - smaller[0])
