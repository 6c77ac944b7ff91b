"""What is set aside for the wrap-up call before the first call is made (docs/requirements.md 3.5)."""

from __future__ import annotations

import msgspec

from ..protocol import Budget, Price

WRAP_UP_SECONDS = 20.0
_PROMPT, _ANSWER = 8_000, 1_000
"""Tokens of a comfortable wrap-up: what it may read and what it may say."""
_LEAST_PROMPT, _LEAST_ANSWER = 600, 100
"""Tokens of a wrap-up that still says something."""


class Reserve(msgspec.Struct, frozen=True, kw_only=True):
    """Set aside for the last call. Zero where nothing useful could be done with it."""

    tokens: int = 0
    usd: float = 0.0
    seconds: float = 0.0


def reserve_for(budget: Budget, price: Price | None, window: int) -> Reserve:
    """A tenth of each limit, up to a quarter of a tight one, no more than a comfortable wrap-up can use."""
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
    return prompt * price.worst_input + answer * price.worst_output
