"""Limits, what was used of them, and prices. Plain data: `stops.budget` decides with it."""

from __future__ import annotations

import msgspec


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of one run (of one message, in a chat). None: the user wrote `none`."""

    steps: int | None = 40
    tokens: int | None = 200_000
    """Billed tokens: input, cached input included, and output, reasoning included."""
    usd: float | None = 0.50
    seconds: float | None = 600.0
    """Time in which a model, a tool or a check runs; waiting for a person does not count."""
    deadline: float | None = None
    """Unix time that bounds the wall clock, or None."""


class Tokens(msgspec.Struct, frozen=True, rename={"in_": "in"}):
    """Billed tokens. `cached` and `written` are parts of `in_`, `reasoning` a part of `out`."""

    in_: int = 0
    out: int = 0
    cached: int = 0
    reasoning: int = 0
    written: int = 0
    """Written to the prompt cache, where that is billed at a rate of its own."""

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


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """What was used so far. Adds up over calls and resumes."""

    steps: int = 0
    tokens: Tokens = Tokens()
    usd: float = 0.0
    seconds: float = 0.0
    held_tokens: int = 0
    """Charged against the limit beyond what is shown: a cut stream counts at its admitted worst case."""
    held_usd: float = 0.0
    unpriced: bool = False
    """At least one call had no known price: `usd` is then a lower bound and shown as `$?`."""
    estimated: bool = False
    """At least one figure is an estimate and shown with a `~`."""

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            steps=self.steps + other.steps,
            tokens=self.tokens + other.tokens,
            usd=self.usd + other.usd,
            seconds=self.seconds + other.seconds,
            held_tokens=self.held_tokens + other.held_tokens,
            held_usd=self.held_usd + other.held_usd,
            unpriced=self.unpriced or other.unpriced,
            estimated=self.estimated or other.estimated,
        )

    @property
    def counted_tokens(self) -> int:
        """What the token limit is compared with."""
        return self.tokens.total + self.held_tokens

    @property
    def counted_usd(self) -> float:
        """What the dollar limit is compared with, USD."""
        return self.usd + self.held_usd


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """USD per single token: usual rates for the bill, the dearest that can apply for the worst case."""

    input: float
    output: float
    cached: float
    """Reading a cached token."""
    worst_input: float
    """The dearest of input, cache write and price tiers."""
    worst_output: float


FREE = Price(input=0.0, output=0.0, cached=0.0, worst_input=0.0, worst_output=0.0)
