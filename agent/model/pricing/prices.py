"""Calculate what a model's tokens cost: usual rates for the bill, the highest possible ones for the worst case."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any, cast

import msgspec

from ...protocol import FREE, Price, Tokens
from .table import SELF_HOSTED, Entry

_TIER = re.compile(r"input_cost_per_token_above_(\d+)k_tokens")
_CACHE_WRITE = 1.25
"""Factor on the input rate for writing to Anthropic's five-minute cache, if the table does not list that price."""


class Rates(msgspec.Struct, frozen=True, kw_only=True):
    """USD per token while the prompt is longer than `above` tokens."""

    above: int
    input: float
    output: float
    cached: float
    written: float


class Tariff(msgspec.Struct, frozen=True):
    """A model's rates in tiers by length of the prompt, the shortest first."""

    tiers: list[Rates]

    def bill(self, tokens: Tokens) -> float:
        """Return the cost of these tokens in USD. The prompt's length selects one tier for the whole call."""
        rates = next(r for r in reversed(self.tiers) if tokens.in_ > r.above or r.above == 0)
        plain = max(tokens.in_ - tokens.cached - tokens.written, 0)
        return (
            plain * rates.input
            + tokens.cached * rates.cached
            + tokens.written * rates.written
            + tokens.out * rates.output
        )

    def price(self, window: int) -> Price:
        """Return the first tier's rates, and the highest rates of all tiers that a prompt in the window can reach."""
        usual = self.tiers[0]
        within = [r for r in self.tiers if r.above < window] or [usual]
        return Price(
            input=usual.input,
            output=usual.output,
            cached=usual.cached,
            worst_input=max(max(r.input, r.written, r.cached) for r in within),
            worst_output=max(r.output for r in within),
        )


NO_CHARGE = Tariff([Rates(above=0, input=0.0, output=0.0, cached=0.0, written=0.0)])


def user_tariff(price: tuple[float, float]) -> Tariff:
    """Return the user's tariff: the same rate for all tokens. `price`: USD per million tokens of input and output."""
    million = 1_000_000
    cost_in, cost_out = price[0] / million, price[1] / million
    return Tariff([Rates(above=0, input=cost_in, output=cost_out, cached=cost_in, written=cost_in)])


def tariff_of(entry: Entry | None, *, local: bool, marks_cache: bool = False) -> Tariff | None:
    """Return the table's rates. Without any, a local server is free, and any other has an unknown price (None)."""
    listed = None if entry is None else _listed(entry, marks_cache)
    if listed is not None and not (entry and entry.provider in SELF_HOSTED and _is_zero(listed)):
        return listed
    return NO_CHARGE if local else None


def price_of(
    entry: Entry | None,
    *,
    local: bool,
    window: int,
    user: tuple[float, float] | None = None,
    marks_cache: bool = False,
) -> Price | None:
    """Return the price for the budget's estimates; None if it is unknown. `user`: USD per million tokens in and out."""
    tariff = user_tariff(user) if user is not None else tariff_of(entry, local=local, marks_cache=marks_cache)
    if tariff is None:
        return None
    return FREE if _is_zero(tariff) else tariff.price(window)


def _is_zero(tariff: Tariff) -> bool:
    return all(r.input == 0 and r.output == 0 for r in tariff.tiers)


def _listed(entry: Entry, marks_cache: bool) -> Tariff | None:
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
    return Tariff(tiers)


def _rates(entry: Entry, above: int, suffix: str, lower: Rates | None, marks_cache: bool) -> Rates | None:
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


def _ranges(ranges: list[dict[str, Any]], marks_cache: bool) -> Tariff | None:
    """Return the tiers in `tiered_pricing`: a list of rates, each for a range of prompt lengths."""
    tiers: list[Rates] = []
    for item in ranges:
        entry = Entry("", item)
        start = int((item.get("range") or [0])[0])
        tier = _rates(entry, start, "", tiers[-1] if tiers else None, marks_cache)
        if tier is not None:
            tiers.append(tier)
    grows = all(a.above < b.above for a, b in pairwise(tiers))
    return Tariff(tiers) if tiers and grows and tiers[0].above == 0 else None
