"""What a provider may still bill for a call that was cut: held against the limits, and released by the clock."""

from __future__ import annotations

from ...protocol import HoldReleased, Model
from ..resources.kit import Kit

LONGEST_ANSWER = 600.0
"""Seconds that a provider generates at most for a client that left: OpenAI and Anthropic end a request after ten
minutes."""
LONGEST_LOCAL = 60.0
"""The same for a server on this machine or network: llama.cpp, Ollama and vLLM stop when the client goes away."""


def held_until(now: float, model: Model) -> float:
    """Unix time at which the rest of a cut call can no longer be billed."""
    return now + (LONGEST_LOCAL if model.local else LONGEST_ANSWER)


def release_due(kit: Kit) -> None:
    """Record that holds whose time is over are released, also where the clock was set back meanwhile."""
    now = kit.clock.now()

    def is_over(seq: int, until: float | None) -> bool:
        return until is None or until <= now or kit.usage.seconds_of_hold(seq) >= LONGEST_ANSWER

    due = [(seq, c) for seq, c in kit.facts.spending.holds.items() if is_over(seq, c.held_until)]
    for seq, charged in due:
        kit.events.record(HoldReleased(charge=seq, tokens=charged.held_tokens, usd=charged.held_usd))
