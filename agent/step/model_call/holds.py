"""Hold the possible cost of an interrupted call against the limits until the provider can no longer bill it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol import HoldReleased, Model

if TYPE_CHECKING:
    from ..resources.context import RunContext

LONGEST_ANSWER = 600.0
"""Seconds for which a provider generates for a client that disconnected: OpenAI and Anthropic stop after 10 minutes."""
LONGEST_LOCAL = 60.0
"""The same for a server on this machine or network: llama.cpp, Ollama and vLLM stop when the client disconnects."""


def held_until(now: float, model: Model) -> float:
    """Return the Unix time at which the rest of an interrupted call can no longer be billed."""
    return now + (LONGEST_LOCAL if model.local else LONGEST_ANSWER)


def release_due(ctx: RunContext) -> None:
    """Record the release of expired holds, even if the clock was set back meanwhile."""
    now = ctx.clock.now()

    def is_over(seq: int, until: float | None) -> bool:
        return until is None or until <= now or ctx.usage.seconds_of_hold(seq) >= LONGEST_ANSWER

    due = [(seq, c) for seq, c in ctx.facts.spending.holds.items() if is_over(seq, c.held_until)]
    for seq, charged in due:
        ctx.events.record(HoldReleased(charge=seq, tokens=charged.held_tokens, usd=charged.held_usd))
