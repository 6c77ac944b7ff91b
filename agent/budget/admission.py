"""Admit or refuse a model call (docs/requirements.md 3). Only this module decides; limits are never exceeded. Pure."""

from __future__ import annotations

from math import inf, isinf
from typing import TYPE_CHECKING

import msgspec

from ..protocol import Exhausted
from .reserve import Reserve

if TYPE_CHECKING:
    from ..protocol import Budget, Price, Spent
    from .count_margin import Margin

USEFUL_OUTPUT = 64
"""Tokens of an answer below which a call is not worth making."""
_MOST_OUTPUT = 32_768
_MOST_WRAP_UP = 4_096
_UNDIVIDED_OUTPUT = 4_096
"""Tokens of output up to which one call may take everything that is left. Above this it gets a quarter: a cut stream is
charged at its worst case, and one cut stream must not end a run.
"""
_LEAST_SECONDS = 0.2
"""Seconds below which a call cannot return anything."""
_ROUNDING = 1e-9
"""Share of a limit that absorbs rounding errors."""


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """Permission for a call, within these bounds."""

    max_tokens: int
    worst_usd: float | None
    """USD at the most expensive rates, including the margin; None if unpriced."""
    worst_tokens: int
    """The prompt with its margin, plus `max_tokens`."""
    seconds: float | None
    """Seconds after which the stream is cut. None means no limit."""


class Shares(msgspec.Struct, frozen=True, kw_only=True):
    """The used share of each limit, 0 to 1 and above; None if there is no limit."""

    steps: float | None
    tokens: float | None
    usd: float | None
    seconds: float | None


def admit(
    budget: Budget,
    spent: Spent,
    prompt_tokens: int,
    *,
    price: Price | None,
    margin: Margin,
    reserve: Reserve,
    window: int,
    max_output: int | None,
    limits_output: bool = True,
    expected_tokens: int = 0,
    wrap_up: bool = False,
    retry: bool = False,
    now: float,
) -> Grant | Exhausted:
    """Return how many tokens the call may use, or the reason why it is refused. Never raises.

    `prompt_tokens` is our own count, `expected_tokens` what the provider will probably count. `spent` contains what
    earlier calls were charged (cut streams at their worst case) and what running calls were admitted with. A `retry`
    belongs to a step that is already counted. A `wrap_up` is not a step and may use the reserve. `now` is Unix time,
    for the deadline. Without `limits_output` the server does not accept a limit, so the call is admitted only if the
    longest possible answer fits.
    """
    kept = Reserve() if wrap_up else reserve
    bounded = margin.bound(prompt_tokens)
    longest = _MOST_OUTPUT if max_output is None else max_output
    useful = max(1, min(USEFUL_OUTPUT, longest))
    if not limits_output:
        useful = max(1, min(window if max_output is None else max_output, window - prompt_tokens))
    end = (
        (None if wrap_up or retry else _steps_end(budget, spent))
        or _tokens_end(budget, spent, kept, bounded + useful)
        or _usd_end(budget, spent, kept, _cost(price, bounded, useful))
        or _seconds_end(budget, spent, kept, now)
    )
    if end is not None:
        assumed = "" if limits_output or end.resource not in ("tokens", "usd") else _assumption(useful)
        return msgspec.structs.replace(end, detail=end.detail + assumed)
    if not limits_output:
        return _grant(bounded, useful, price, _seconds_left(budget, spent, kept, now))
    in_window = window - max(prompt_tokens + prompt_tokens // 10, expected_tokens)
    most = min(_MOST_WRAP_UP if wrap_up else _MOST_OUTPUT, in_window)
    max_tokens = _fitting(max(min(most, longest), useful), _room_for_output(budget, spent, kept, price, bounded))
    return _grant(bounded, max_tokens, price, _seconds_left(budget, spent, kept, now))


def _grant(bounded: int, max_tokens: int, price: Price | None, seconds: float | None) -> Grant:
    return Grant(
        max_tokens=max_tokens,
        worst_usd=_cost(price, bounded, max_tokens),
        worst_tokens=bounded + max_tokens,
        seconds=seconds,
    )


def _assumption(output: int) -> str:
    return f" (the server accepts no limit of the answer, so {output:,} tokens of output are assumed)"


def over(budget: Budget, spent: Spent) -> Exhausted | None:
    """Return the limit that this usage exceeds, or None. For a call that is held in the ledger of another run."""
    if budget.steps is not None and spent.steps > budget.steps:
        detail = f"step budget: {spent.steps:,} of {budget.steps:,} steps with this call"
        return Exhausted(resource="steps", detail=detail)
    if budget.tokens is not None and spent.counted_tokens > budget.tokens:
        detail = f"token budget: {spent.counted_tokens:,} of {budget.tokens:,} tokens with this call"
        return Exhausted(resource="tokens", detail=detail)
    if budget.usd is not None and spent.counted_usd > budget.usd:
        places = _places(budget.usd or spent.counted_usd)
        detail = f"cost budget: {spent.counted_usd:.{places}f} of {budget.usd:.{places}f} USD with this call"
        return Exhausted(resource="usd", detail=detail)
    return None


def tighter(one: Grant, other: Grant) -> Grant:
    """Return the bounds of the smaller of two permissions for the same call."""
    smaller = min(one, other, key=lambda grant: grant.max_tokens)
    seconds = min((grant.seconds for grant in (one, other) if grant.seconds is not None), default=None)
    return msgspec.structs.replace(smaller, seconds=seconds)


def _fitting(wanted: int, room: float) -> int:
    """Return how many of the wanted tokens a call may use, so that there is room for later ones."""
    return int(min(wanted, room, max(_UNDIVIDED_OUTPUT, room / 4)))


def _room_for_output(budget: Budget, spent: Spent, kept: Reserve, price: Price | None, bounded: int) -> float:
    """Return the tokens that an answer to a prompt of `bounded` tokens may have."""
    by_usd = _output_for(_usd_room(budget, spent, kept), price, bounded)
    return min(_tokens_room(budget, spent, kept) - bounded, by_usd)


def share(budget: Budget, spent: Spent) -> Shares:
    """Return the used share of each limit, for meters."""
    return Shares(
        steps=_share(spent.steps, budget.steps),
        tokens=_share(spent.counted_tokens, budget.tokens),
        usd=_share(spent.counted_usd, budget.usd),
        seconds=_share(spent.seconds, budget.seconds),
    )


def _share(used: float, limit: float | None) -> float | None:
    if limit is None:
        return None
    return used / limit if limit > 0 else 1.0


def _steps_end(budget: Budget, spent: Spent) -> Exhausted | None:
    if budget.steps is None or spent.steps < budget.steps:
        return None
    return Exhausted(resource="steps", detail=f"step budget: {spent.steps:,} of {budget.steps:,} steps")


def _tokens_room(budget: Budget, spent: Spent, kept: Reserve) -> float:
    return inf if budget.tokens is None else budget.tokens - kept.tokens - spent.counted_tokens


def _tokens_end(budget: Budget, spent: Spent, kept: Reserve, needed: int) -> Exhausted | None:
    if budget.tokens is None or needed <= _tokens_room(budget, spent, kept):
        return None
    used = spent.counted_tokens
    kept_text = f", {kept.tokens:,} are kept for the wrap-up" if used + needed <= budget.tokens else ""
    detail = f"token budget: {used:,} of {budget.tokens:,} tokens, the next call could take {needed:,}{kept_text}"
    return Exhausted(resource="tokens", detail=detail)


def _usd_room(budget: Budget, spent: Spent, kept: Reserve) -> float:
    return inf if budget.usd is None else budget.usd * (1 - _ROUNDING) - kept.usd - spent.counted_usd


def _usd_end(budget: Budget, spent: Spent, kept: Reserve, needed: float | None) -> Exhausted | None:
    """Refuse a call without a known cost only if the limit was exceeded before it."""
    if budget.usd is None:
        return None
    used = spent.counted_usd
    if used <= budget.usd if not needed else needed <= _usd_room(budget, spent, kept):
        return None
    places = _places(min(x for x in (budget.usd, needed or budget.usd) if x > 0)) if budget.usd or needed else 3
    detail = f"cost budget: {used:.{places}f} of {budget.usd:.{places}f} USD"
    if needed:
        detail += f", the next call could cost {needed:.{places}f}"
        if used + needed <= budget.usd and kept.usd:
            detail += f", {kept.usd:.{places}f} is kept for the wrap-up"
    return Exhausted(resource="usd", detail=detail)


def _places(smallest: float) -> int:
    """Return the decimals that show a digit of the smallest figure, at least three."""
    places = 3
    while places < 9 and smallest * 10**places < 0.95:
        places += 1
    return places


def _seconds_left(budget: Budget, spent: Spent, kept: Reserve, now: float) -> float | None:
    left: list[float] = []
    if budget.seconds is not None:
        left.append(budget.seconds - kept.seconds - spent.seconds)
    if budget.deadline is not None:
        left.append(budget.deadline - now - _kept_of_deadline(budget.deadline, spent, kept, now))
    return min(left, default=None)


def _kept_of_deadline(deadline: float, spent: Spent, kept: Reserve, now: float) -> float:
    """Reserve a tenth of a short deadline too. Its start is unknown; only the time used and the time left are known."""
    return min(kept.seconds, max(0.0, spent.seconds + deadline - now) / 10)


def _seconds_end(budget: Budget, spent: Spent, kept: Reserve, now: float) -> Exhausted | None:
    limit, deadline = budget.seconds, budget.deadline
    if limit is not None and (limit <= 0 or limit - kept.seconds - spent.seconds < min(_LEAST_SECONDS, limit / 10)):
        places = 0 if limit >= 10 else 1
        kept_text = (
            f", {kept.seconds:.{places}f} s are kept for the wrap-up" if spent.seconds < limit and kept.seconds else ""
        )
        detail = f"time budget: {spent.seconds:.{places}f} of {limit:.{places}f} s{kept_text}"
        return Exhausted(resource="seconds", detail=detail)
    if deadline is not None:
        reserved = _kept_of_deadline(deadline, spent, kept, now)
        if deadline - now - reserved < _LEAST_SECONDS:
            left = max(0.0, deadline - now)
            kept_text = f", {reserved:.1f} s are kept for the wrap-up" if left and reserved else ""
            return Exhausted(resource="deadline", detail=f"time budget: {left:.1f} s until the deadline{kept_text}")
    return None


def _cost(price: Price | None, prompt: int, output: int) -> float | None:
    if price is None:
        return None
    return price.worst_call + prompt * price.worst_input + output * price.worst_output


def _output_for(room: float, price: Price | None, prompt: int) -> float:
    """Return the tokens of output that fit into `room` USD next to the prompt."""
    if price is None or price.worst_output <= 0 or isinf(room):
        return inf
    return (room - price.worst_call - prompt * price.worst_input) / price.worst_output + 1e-6


def replace_budget(budget: Budget, name: str, value: float | None) -> Budget:
    """Return the limits with one of them changed; whole numbers stay whole."""
    whole = name in ("steps", "tokens") and value is not None
    return msgspec.structs.replace(budget, **{name: int(value) if whole and value is not None else value})
