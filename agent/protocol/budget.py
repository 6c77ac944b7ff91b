"""Budget limits, usage and prices. Plain data: `agent.budget` makes the decisions."""

from __future__ import annotations

from typing import Literal

import msgspec

LimitName = Literal["steps", "tokens", "usd", "seconds", "deadline", "quota"]
"""A limit that can end a run: one of the budget, or a quota of a tool."""


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of one run (of one message, in a chat). None means no limit: the user wrote `none`."""

    steps: int | None = 40
    tokens: int | None = 200_000
    """Billed tokens: input including cached input, and output including reasoning."""
    usd: float | None = 0.50
    seconds: float | None = 600.0
    """Time in which a model, a tool or a check runs. Waiting for a person does not count."""
    deadline: float | None = None
    """Unix time at which the run must end, or None."""


class Exhausted(msgspec.Struct, frozen=True, kw_only=True):
    """A limit that leaves no room for a useful call."""

    resource: LimitName
    detail: str
    """Text for people, such as `cost budget: 0.498 of 0.500 USD, the next call could cost 0.011`."""


class Tokens(msgspec.Struct, frozen=True, rename={"in_": "in"}):
    """Billed tokens. `cached` and `written` are parts of `in_`, `reasoning` a part of `out`."""

    in_: int = 0
    out: int = 0
    cached: int = 0
    reasoning: int = 0
    written: int = 0
    """Tokens written to the prompt cache, for providers that bill these at their own rate."""

    @property
    def total(self) -> int:
        return self.in_ + self.out

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(
            self.in_ + other.in_,
            self.out + other.out,
            self.cached + other.cached,
            self.reasoning + other.reasoning,
            self.written + other.written,
        )


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """What may have been billed in addition to the booked amounts. It counts against the limits."""

    tokens: int = 0
    usd: float = 0.0
    cut_calls: int = 0
    """Number of calls that were cut; they are held up to their worst case."""

    def __bool__(self) -> bool:
        return self.tokens > 0 or self.usd > 0


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """Usage so far, added up over calls and resumes."""

    steps: int = 0
    tokens: Tokens = Tokens()
    usd: float = 0.0
    seconds: float = 0.0
    held_tokens: int = 0
    """Tokens that may have been billed in addition: a call that was cut counts with its worst case."""
    held_usd: float = 0.0
    cut_calls: int = 0
    """Number of calls that were cut, for which an amount is held."""
    unpriced: bool = False
    """At least one call had no known price: `usd` is then a lower bound and is shown as `$?`."""
    estimated: bool = False
    """At least one figure is an estimate and is shown with a `~`."""

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            steps=self.steps + other.steps,
            tokens=self.tokens + other.tokens,
            usd=self.usd + other.usd,
            seconds=self.seconds + other.seconds,
            held_tokens=self.held_tokens + other.held_tokens,
            held_usd=self.held_usd + other.held_usd,
            cut_calls=self.cut_calls + other.cut_calls,
            unpriced=self.unpriced or other.unpriced,
            estimated=self.estimated or other.estimated,
        )

    @property
    def held(self) -> Held:
        """What is held for calls whose usage is not known."""
        return Held(tokens=self.held_tokens, usd=self.held_usd, cut_calls=self.cut_calls)

    @property
    def counted_tokens(self) -> int:
        """The number of tokens to compare with the token limit."""
        return self.tokens.total + self.held_tokens

    @property
    def counted_usd(self) -> float:
        """The amount in USD to compare with the dollar limit."""
        return self.usd + self.held_usd

    @property
    def figures(self) -> tuple[int, int, float, float]:
        """Steps, tokens, USD and seconds as the limits count them. They are stored next to a journal."""
        return self.steps, self.counted_tokens, self.counted_usd, self.seconds

    @staticmethod
    def of_figures(steps: int, tokens: int, usd: float, seconds: float) -> Spent:
        """Return a usage of which only these figures are known: its tokens and USD count as held."""
        return Spent(steps=steps, held_tokens=tokens, held_usd=usd, seconds=seconds)


class Rates(msgspec.Struct, frozen=True, kw_only=True):
    """USD per token while the prompt is longer than `above` tokens."""

    above: int
    input: float
    output: float
    cached: float
    written: float


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """USD per single token: usual rates for the bill, the highest applicable rates for the worst case."""

    input: float
    output: float
    cached: float
    """Price of reading a cached token."""
    worst_input: float
    """The highest of the rates for input, cache writes and price tiers."""
    worst_output: float
    worst_call: float = 0.0
    """USD that a call may cost in addition to its tokens."""
    tiers: tuple[Rates, ...] = ()
    """Rates for the bill by the length of the prompt, the shortest first. Empty means the rates above, for any
    length."""

    def bill(self, tokens: Tokens) -> float:
        """Return the cost of these tokens in USD. The prompt's length selects one tier for the whole call."""
        usual = Rates(above=0, input=self.input, output=self.output, cached=self.cached, written=self.input)
        rates = next((r for r in reversed(self.tiers) if tokens.in_ > r.above or r.above == 0), usual)
        plain = max(tokens.in_ - tokens.cached - tokens.written, 0)
        return (
            plain * rates.input
            + tokens.cached * rates.cached
            + tokens.written * rates.written
            + tokens.out * rates.output
        )


def bill(price: Price | None, tokens: Tokens) -> float | None:
    """Return the cost of these tokens in USD, or None if the price is unknown."""
    return None if price is None else price.bill(tokens)


FREE = Price(input=0.0, output=0.0, cached=0.0, worst_input=0.0, worst_output=0.0)
