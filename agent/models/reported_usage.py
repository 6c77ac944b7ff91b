"""Read what a provider reports about one call: its tokens, and its cost in USD.

A report can be incomplete or contradict itself: parts are missing, the total exceeds the parts, reasoning or cached
tokens are left out. The larger figure counts, because a budget must never be exceeded (docs/requirements.md 3.2).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any, cast

import msgspec

from ..protocol import Tokens, UsagePart

_MOST_TOKENS = 10**12
"""A larger number is not a count of tokens."""
_MOST_USD = 1e6
"""A larger number is not the cost of one call in USD."""
_USD_PER_TICK = 1e-10
"""xAI's unit of cost (https://docs.x.ai/developers/cost-tracking)."""
_COSTS = ("cost", "total_cost", "total_cost_usd", "cost_usd", "estimated_cost")
"""Fields of a usage with the cost in USD: `cost` of OpenRouter, Vercel, Requesty, LiteLLM and others,
`estimated_cost` of DeepInfra.
"""
_COST_PARTS = ("total_cost", "usd", "total", "amount")
"""Fields of a cost that is an object: `total_cost` of Perplexity, `usd` of Charm's Hyper."""
_COST_HEADERS = ("x-litellm-response-cost",)
"""Headers with the cost in USD (https://docs.litellm.ai/docs/proxy/response_headers). It is empty for most streams."""


class ReportedUsage(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one or several reports about the same call.

    0 means that the provider did not report the figure.
    """

    prompt: int = 0
    output: int = 0
    total: int = 0
    cached: int = 0
    """Part of the prompt, or not: OpenAI includes cached tokens in the prompt, others leave them out."""
    written: int = 0
    reasoning: int = 0
    """Part of the output, or not: OpenAI includes reasoning in the output, xAI leaves it out."""
    usd: float | None = None

    def __or__(self, later: ReportedUsage) -> ReportedUsage:
        """Return the figures after a later report of the same stream. What it does not report keeps its value."""
        inputs = later if later.prompt or later.cached or later.written else self
        outputs = later if later.output or later.reasoning else self
        costs = [usd for usd in (self.usd, later.usd) if usd is not None]
        return ReportedUsage(
            prompt=inputs.prompt,
            cached=inputs.cached,
            written=inputs.written,
            output=outputs.output,
            reasoning=outputs.reasoning,
            total=later.total or self.total,
            usd=max(costs, default=None),
        )

    def __bool__(self) -> bool:
        """Whether any figure was reported."""
        return self.has_tokens or self.usd is not None

    @property
    def has_tokens(self) -> bool:
        """Whether a count of tokens was reported."""
        return bool(self.prompt or self.output or self.total)

    def part(self) -> UsagePart:
        """Return the tokens to charge. A part is 0 if nothing in the reports says how large it was."""
        prompt, output, inside = self.prompt, self.output, self.cached + self.written
        if inside > prompt or self.total == prompt + inside + output:
            prompt += inside
        if self.reasoning > output or self.total == prompt + output + self.reasoning:
            output += self.reasoning
        rest = max(0, self.total - prompt - output)
        if prompt:
            output += rest
        elif output:
            prompt = rest
        cached = min(self.cached, prompt)
        tokens = Tokens(prompt, output, cached, min(self.reasoning, output), min(self.written, prompt - cached))
        return UsagePart(tokens, total=0 if tokens.total else self.total, usd=self.usd)


def figure(holder: object, *names: str) -> int:
    """Return the first of these fields that is a positive count of tokens, else 0."""
    given = as_mapping(holder)
    for name in names:
        value = _number(given.get(name))
        if value is not None and 1 <= value <= _MOST_TOKENS:
            return int(value)
    return 0


def later_figures(known: Mapping[str, int], holder: object) -> dict[str, int]:
    """Return the known figures, each replaced by the one of the same name in `holder` if it has one."""
    return {name: figure(holder, name) or value for name, value in known.items()}


def as_mapping(value: object) -> Mapping[str, Any]:
    """Return a decoded JSON object as it is; empty for anything else."""
    return cast(Mapping[str, Any], value) if isinstance(value, Mapping) else {}


def cost_in(holder: object) -> float | None:
    """Return the cost of the call in USD that a usage reports, or None if it reports none.

    With the user's own key at OpenRouter, `cost` is OpenRouter's fee; the key's owner also pays the provider
    (https://openrouter.ai/docs/use-cases/usage-accounting).
    """
    given = as_mapping(holder)
    if not _is_usd(given):
        return None
    ticks = _number(given.get("cost_in_usd_ticks"))
    found = [_usd(given.get(name)) for name in _COSTS] + [None if ticks is None else _usd(ticks * _USD_PER_TICK)]
    cost = max((usd for usd in found if usd is not None), default=None)
    if given.get("is_byok") is True:
        upstream = _usd(as_mapping(given.get("cost_details")).get("upstream_inference_cost"))
        return upstream if cost is None else cost + (upstream or 0.0)
    return cost


def cost_in_headers(headers: Mapping[str, str]) -> ReportedUsage:
    """Return the cost that the headers of an answer report. Names of headers are compared without case."""
    found = [_usd(value) for name, value in headers.items() if name.lower() in _COST_HEADERS]
    return ReportedUsage(usd=max((usd for usd in found if usd is not None), default=None))


def _usd(value: object) -> float | None:
    """Return an amount in USD that is a number, a text with a number, or an object with one of them."""
    if isinstance(value, Mapping):
        given = as_mapping(cast(object, value))
        found = [_number(given.get(name)) for name in _COST_PARTS] if _is_usd(given) else []
        amount = max((number for number in found if number is not None), default=None)
    else:
        amount = _number(value)
    return amount if amount is not None and 0 <= amount <= _MOST_USD else None


def _is_usd(given: Mapping[str, Any]) -> bool:
    return str(given.get("currency") or "usd").lower() in ("usd", "us$", "$")


def _number(value: object) -> float | None:
    """Return a finite number, also of a text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if isfinite(number) else None
