"""Find the price of a model: the user's, that of the table, or none."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any, cast

from ..protocol import FREE, Price, Rates
from .price_table import SELF_HOSTED, PriceRow

_TIER = re.compile(r"input_cost_per_token_above_(\d+)k_tokens")
_CACHE_WRITE = 1.25
"""Factor on the input rate for writing to Anthropic's five-minute cache, if the table does not list that price."""


def price_of(
    entry: PriceRow | None,
    *,
    local: bool,
    window: int,
    user: tuple[float, float] | None = None,
    marks_cache: bool = False,
) -> Price | None:
    """Return the price for the budget's estimates; None if it is unknown. `user`: USD per million tokens in and out."""
    if user is not None:
        tiers = _flat(user)
    else:
        listed = None if entry is None else _listed(entry, marks_cache)
        is_known = listed and not (entry and entry.provider in SELF_HOSTED and _is_zero(listed))
        tiers = listed if is_known else _flat((0.0, 0.0)) if local else None
    if not tiers:
        return None
    return FREE if _is_zero(tiers) else _price(tiers, window)


def _price(tiers: list[Rates], window: int) -> Price:
    """Return the price with the highest rates of all tiers that a prompt in the window can reach."""
    usual = tiers[0]
    within = [r for r in tiers if r.above < window] or [usual]
    return Price(
        input=usual.input,
        output=usual.output,
        cached=usual.cached,
        worst_input=max(max(r.input, r.written, r.cached) for r in within),
        worst_output=max(r.output for r in within),
        tiers=tuple(tiers),
    )


def _flat(price: tuple[float, float]) -> list[Rates]:
    """Return the same rate for all tokens. `price`: USD per million tokens of input and output."""
    cost_in, cost_out = price[0] / 1_000_000, price[1] / 1_000_000
    return [Rates(above=0, input=cost_in, output=cost_out, cached=cost_in, written=cost_in)]


def _is_zero(tiers: list[Rates]) -> bool:
    return all(r.input == 0 and r.output == 0 for r in tiers)


def _listed(entry: PriceRow, marks_cache: bool) -> list[Rates] | None:
    """Return the tiers of the table, the shortest prompts first, or None if it does not list rates."""
    if ranges := entry.fields.get("tiered_pricing"):
        return _ranges(cast(list[dict[str, Any]], ranges), marks_cache)
    base = _rates(entry, 0, "", None, marks_cache)
    if base is None:
        return None
    tiers = [base]
    for thousand in sorted(int(m[1]) for name in entry.fields if (m := _TIER.fullmatch(name))):
        tier = _rates(entry, thousand * 1000, f"_above_{thousand}k_tokens", tiers[-1], marks_cache)
        if tier is not None:
            tiers.append(tier)
    return tiers


def _rates(entry: PriceRow, above: int, suffix: str, lower: Rates | None, marks_cache: bool) -> Rates | None:
    """Return one tier. A rate that the table omits in a higher tier grows in proportion to the input rate."""
    cost_in = entry.number(f"input_cost_per_token{suffix}")
    cost_out = entry.number(f"output_cost_per_token{suffix}")
    if cost_in is None:
        return None
    if cost_out is None:
        if lower is None:
            return None
        cost_out = lower.output
    growth = cost_in / lower.input if lower is not None and lower.input else 1.0
    reasoning = entry.number("output_cost_per_reasoning_token") or 0.0
    cached = entry.number(f"cache_read_input_token_cost{suffix}")
    written = entry.number(f"cache_creation_input_token_cost{suffix}")
    if cached is None:
        cached = lower.cached * growth if lower is not None else cost_in
    if not written:  # some entries have 0 although writing to the cache costs the usual rate
        written = lower.written * growth if lower is not None else cost_in * (_CACHE_WRITE if marks_cache else 1.0)
    return Rates(above=above, input=cost_in, output=max(cost_out, reasoning), cached=cached, written=written)


def _ranges(ranges: list[dict[str, Any]], marks_cache: bool) -> list[Rates] | None:
    """Return the tiers in `tiered_pricing`: a list of rates, each for a range of prompt lengths."""
    tiers: list[Rates] = []
    for item in ranges:
        entry = PriceRow("", item)
        start = int((item.get("range") or [0])[0])
        tier = _rates(entry, start, "", tiers[-1] if tiers else None, marks_cache)
        if tier is not None:
            tiers.append(tier)
    grows = all(a.above < b.above for a, b in pairwise(tiers))
    return tiers if tiers and grows and tiers[0].above == 0 else None
