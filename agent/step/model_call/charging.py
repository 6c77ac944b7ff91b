"""Compute what a call is charged: what its provider reported, else an estimate, and what may be billed in addition."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from ...protocol import Charged, Tokens, UsagePart, bill

if TYPE_CHECKING:
    from ...budget.admission import Grant
    from ...protocol import Model, Price

_MARGIN_OUT, _MARGIN_OUT_TOKENS = 0.25, 16
"""Share and number of tokens by which a complete answer can exceed our count of its text."""
_LEAST_SHARE = 0.25
"""Share of the cost by the price below which a reported cost is not the bill. Recorded bills are above 0.38 of it."""


def charged_for(own: Tokens, reported: UsagePart | None, grant: Grant, model: Model, *, is_cut: bool) -> Charged:
    """Return the charge of a call. Figures that the provider did not report are replaced by our own.

    `own`: our counts of the prompt and of what arrived. `is_cut`: the answer was not complete; then everything up to
    the admitted worst case is held, because no provider reports later what it billed for such a call.
    """
    report = reported or UsagePart(Tokens())
    tokens = _tokens(own, report, is_cut=is_cut)
    knows_sum = report.total > 0
    knows_in, knows_out = report.tokens.in_ > 0, report.tokens.out > 0 or own.out == 0
    listed = bill(model.price, tokens)
    if knows_sum:
        listed = bill(model.price, _mostly_output(tokens, grant.max_tokens))
    usd = _cost(listed, report.usd)
    if is_cut:
        held_tokens = max(0, grant.worst_tokens - tokens.total)
        held_usd = max(0.0, (grant.worst_usd or 0.0) - (usd or 0.0))
    else:
        more_in = 0 if knows_in or knows_sum else max(0, grant.worst_tokens - grant.max_tokens - tokens.in_)
        more_out = 0 if knows_out or knows_sum else _more_output(tokens.out, grant)
        held_tokens, held_usd = more_in + more_out, _worst(model.price, more_in, more_out)
    return Charged(
        tokens_in=tokens.in_,
        tokens_out=tokens.out,
        tokens_cached=tokens.cached,
        tokens_reasoning=tokens.reasoning,
        tokens_written=tokens.written,
        usd=usd,
        reported_usd=report.usd,
        listed_usd=None if report.usd is None else listed,
        estimated=is_cut or not (knows_in and knows_out),
        is_cut=is_cut,
        held_tokens=held_tokens,
        held_usd=held_usd,
        model=model.name,
        prompt_counted=own.in_ if (knows_in or knows_sum) and not is_cut else 0,
    )


def _tokens(own: Tokens, report: UsagePart, *, is_cut: bool) -> Tokens:
    given = report.tokens
    counted_in, counted_out = given.in_ or own.in_, given.out or own.out
    if is_cut:  # the report can be one of the beginning
        counted_in, counted_out = max(counted_in, own.in_), max(counted_out, own.out)
    rest = max(0, report.total - counted_in - counted_out)  # our count of the prompt is the less certain one
    return Tokens(counted_in + rest, counted_out, given.cached, given.reasoning, given.written)


def _mostly_output(tokens: Tokens, max_tokens: int) -> Tokens:
    """Return the most expensive way to divide a sum: as much output as the call was allowed."""
    output = max(tokens.out, min(tokens.total, max_tokens))
    return Tokens(tokens.total - output, output)


def _more_output(counted: int, grant: Grant) -> int:
    return max(0, min(grant.max_tokens - counted, ceil(counted * _MARGIN_OUT) + _MARGIN_OUT_TOKENS))


def _worst(price: Price | None, tokens_in: int, tokens_out: int) -> float:
    return 0.0 if price is None else tokens_in * price.worst_input + tokens_out * price.worst_output


def _cost(listed: float | None, reported: float | None) -> float | None:
    """Return the cost to book: what the provider reports, else the cost by the price.

    The reported cost is the bill: it includes fees and discounts that a price per token does not know, and a table of
    prices ages. But a gateway that uses the user's own key reports its fee, or 0; a small part of the cost by the price
    is therefore not the bill.
    """
    if reported is None or (listed is not None and reported < _LEAST_SHARE * listed):
        return listed
    return reported
