"""Calculate the reserve for the wrap-up call, before the first call (docs/requirements.md 3.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from ..protocol import Budget, Price

WRAP_UP_SECONDS = 20.0
_PROMPT, _ANSWER = 8_000, 1_000
"""Tokens of the prompt and the answer of a generous wrap-up."""
_LEAST_PROMPT, _LEAST_ANSWER = 600, 100
"""Tokens of the prompt and the answer of the smallest useful wrap-up."""


class Reserve(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens, USD and seconds for the wrap-up call. An amount that is too small to be useful is zero."""

    tokens: int = 0
    usd: float = 0.0
    seconds: float = 0.0


def reserve_for(budget: Budget, price: Price | None, window: int) -> Reserve:
    """Return a tenth of each limit (a quarter of a small one), but at most what a generous wrap-up can use."""
    tokens, usd = 0, 0.0
    if budget.tokens is not None:
        tokens = int(_part(budget.tokens, min(_PROMPT + _ANSWER, window), _LEAST_PROMPT + _LEAST_ANSWER))
    if budget.usd is not None and price is not None:
        usd = _part(budget.usd, _cost(price, _PROMPT, _ANSWER), _cost(price, _LEAST_PROMPT, _LEAST_ANSWER))
    seconds = WRAP_UP_SECONDS if budget.seconds is None else min(WRAP_UP_SECONDS, budget.seconds / 10)
    return Reserve(tokens=tokens, usd=usd, seconds=seconds)


def _part(limit: float, comfortable: float, least: float) -> float:
    wish = max(limit / 10, min(2.5 * least, limit / 4))
    part = min(comfortable, wish)
    return part if part >= least else 0.0


def _cost(price: Price, prompt: int, answer: int) -> float:
    return price.worst_call + prompt * price.worst_input + answer * price.worst_output
