"""Admit or refuse a model call (docs/requirements.md 3). Only this module decides; limits are never exceeded. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isinf
from typing import TYPE_CHECKING

import msgspec

from ..protocol import Exhausted
from .count_margin import Margin, expected
from .reserve import Reserve

if TYPE_CHECKING:
    from ..protocol import Budget, Price
    from .ledger import Left

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


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """Permission for a call, within these bounds."""

    max_tokens: int
    worst_usd: float | None
    """USD at the most expensive rates, including the margin; None if unpriced."""
    worst_tokens: int
    """The prompt with its margin, plus `max_tokens`."""
    seconds: float | None
    """Seconds after which the stream is cut. None means no limit."""


class CallRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A call that is about to be made."""

    prompt_tokens: int
    """Our own count of the prompt."""
    expected_tokens: int = 0
    """What the provider will probably count. 0 means that it has counted no prompt yet."""
    margin: Margin
    window: int
    max_output: int | None
    """Tokens of the longest answer, or None if they are not known."""
    limits_output: bool = True
    """False: the server accepts no limit, so the call is admitted only if the longest possible answer fits."""
    wrap_up: bool = False
    """It is not a step and may use the reserve."""
    retry: bool = False
    """It belongs to a step that is already counted."""
    now: float
    """Unix time, for the deadline."""


def admit(limits: Sequence[Left], price: Price | None, request: CallRequest) -> Grant | Exhausted:
    """Return how many tokens the call may use, or the reason why it is refused. Never raises.

    `limits`: what the run's own limits leave, then those of the runs above it. What they count as spent contains what
    earlier calls were charged (cut streams at their worst case) and what running calls were admitted with.
    """
    own, *above = limits
    found = _admit(own, price, request)
    for left in above:
        if isinstance(found, Exhausted):
            return found
        other = _admit(left, price, request)
        found = _named(left, other) if isinstance(other, Exhausted) else _tighter(found, other)
    return found


def _admit(left: Left, price: Price | None, request: CallRequest) -> Grant | Exhausted:
    if request.wrap_up:
        left = msgspec.structs.replace(left, reserve=Reserve())
    prompt, window, now = request.prompt_tokens, request.window, request.now
    bounded = request.margin.bound(prompt)
    longest = _MOST_OUTPUT if request.max_output is None else request.max_output
    useful = max(1, min(USEFUL_OUTPUT, longest))
    if not request.limits_output:
        useful = max(1, min(window if request.max_output is None else request.max_output, window - prompt))
    end = (
        (None if request.wrap_up or request.retry else _steps_end(left))
        or _tokens_end(left, bounded + useful)
        or _usd_end(left, _cost(price, bounded, useful))
        or _seconds_end(left, now)
    )
    if end is not None:
        assumed = "" if request.limits_output or end.resource not in ("tokens", "usd") else _assumption(useful)
        return msgspec.structs.replace(end, detail=end.detail + assumed)
    if not request.limits_output:
        return _grant(bounded, useful, price, left.seconds(now))
    in_window = window - (request.expected_tokens or expected(prompt, None))
    most = min(_MOST_WRAP_UP if request.wrap_up else _MOST_OUTPUT, in_window)
    max_tokens = _fitting(max(min(most, longest), useful), _room_for_output(left, price, bounded))
    return _grant(bounded, max_tokens, price, left.seconds(now))


def _grant(bounded: int, max_tokens: int, price: Price | None, seconds: float | None) -> Grant:
    return Grant(
        max_tokens=max_tokens,
        worst_usd=_cost(price, bounded, max_tokens),
        worst_tokens=bounded + max_tokens,
        seconds=seconds,
    )


def _assumption(output: int) -> str:
    return f" (the server accepts no limit of the answer, so {output:,} tokens of output are assumed)"


def passed(left: Left) -> Exhausted | None:
    """Return the limit that this usage exceeds, or None. For a call that is held in the ledger of another run."""
    budget, spent = left.budget, left.spent
    if budget.steps is not None and spent.steps > budget.steps:
        detail = f"step budget: {spent.steps:,} of {budget.steps:,} steps with this call"
        return _named(left, Exhausted(resource="steps", detail=detail))
    if budget.tokens is not None and spent.counted_tokens > budget.tokens:
        detail = f"token budget: {spent.counted_tokens:,} of {budget.tokens:,} tokens with this call"
        return _named(left, Exhausted(resource="tokens", detail=detail))
    if budget.usd is not None and spent.counted_usd > budget.usd:
        places = _places(budget.usd or spent.counted_usd)
        detail = f"cost budget: {spent.counted_usd:.{places}f} of {budget.usd:.{places}f} USD with this call"
        return _named(left, Exhausted(resource="usd", detail=detail))
    return None


def _named(left: Left, exhausted: Exhausted) -> Exhausted:
    """Return the limit with the name of the run that has it, unless that is the run of the call."""
    if not left.run_id:
        return exhausted
    return Exhausted(resource=exhausted.resource, detail=f"{exhausted.detail} (of the parent run {left.run_id})")


def _tighter(one: Grant, other: Grant) -> Grant:
    """Return the bounds of the smaller of two permissions for the same call."""
    smaller = min(one, other, key=lambda grant: grant.max_tokens)
    seconds = min((grant.seconds for grant in (one, other) if grant.seconds is not None), default=None)
    return msgspec.structs.replace(smaller, seconds=seconds)


def _fitting(wanted: int, room: float) -> int:
    """Return how many of the wanted tokens a call may use, so that there is room for later ones."""
    return int(min(wanted, room, max(_UNDIVIDED_OUTPUT, room / 4)))


def _room_for_output(left: Left, price: Price | None, bounded: int) -> float:
    """Return the tokens that an answer to a prompt of `bounded` tokens may have."""
    return min(left.tokens - bounded, _output_for(left.usd, price, bounded))


def _steps_end(left: Left) -> Exhausted | None:
    limit, used = left.budget.steps, left.spent.steps
    if limit is None or used < limit:
        return None
    return Exhausted(resource="steps", detail=f"step budget: {used:,} of {limit:,} steps")


def _tokens_end(left: Left, needed: int) -> Exhausted | None:
    limit, used = left.budget.tokens, left.spent.counted_tokens
    if limit is None or needed <= left.tokens:
        return None
    kept_text = f", {left.reserve.tokens:,} are kept for the wrap-up" if used + needed <= limit else ""
    detail = f"token budget: {used:,} of {limit:,} tokens, the next call could take {needed:,}{kept_text}"
    return Exhausted(resource="tokens", detail=detail)


def _usd_end(left: Left, needed: float | None) -> Exhausted | None:
    """Refuse a call without a known cost only if the limit was exceeded before it."""
    limit, used = left.budget.usd, left.spent.counted_usd
    if limit is None:
        return None
    if used <= limit if not needed else needed <= left.usd:
        return None
    places = _places(min(x for x in (limit, needed or limit) if x > 0)) if limit or needed else 3
    detail = f"cost budget: {used:.{places}f} of {limit:.{places}f} USD"
    if needed:
        detail += f", the next call could cost {needed:.{places}f}"
        if used + needed <= limit and left.reserve.usd:
            detail += f", {left.reserve.usd:.{places}f} is kept for the wrap-up"
    return Exhausted(resource="usd", detail=detail)


def _places(smallest: float) -> int:
    """Return the decimals that show a digit of the smallest figure, at least three."""
    places = 3
    while places < 9 and smallest * 10**places < 0.95:
        places += 1
    return places


def _seconds_end(left: Left, now: float) -> Exhausted | None:
    limit, deadline, used, kept = left.budget.seconds, left.budget.deadline, left.spent.seconds, left.reserve.seconds
    if limit is not None and (limit <= 0 or limit - kept - used < min(_LEAST_SECONDS, limit / 10)):
        places = 0 if limit >= 10 else 1
        kept_text = f", {kept:.{places}f} s are kept for the wrap-up" if used < limit and kept else ""
        detail = f"time budget: {used:.{places}f} of {limit:.{places}f} s{kept_text}"
        return Exhausted(resource="seconds", detail=detail)
    if deadline is not None:
        reserved = left.reserved_until(deadline, now)
        if deadline - now - reserved < _LEAST_SECONDS:
            rest = max(0.0, deadline - now)
            kept_text = f", {reserved:.1f} s are kept for the wrap-up" if rest and reserved else ""
            return Exhausted(resource="deadline", detail=f"time budget: {rest:.1f} s until the deadline{kept_text}")
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
