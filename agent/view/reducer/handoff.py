"""A hand-off on its way: who is asked, who takes it up, and what another model would cost."""

from __future__ import annotations

from typing import assert_never

from ...protocol import HandoffClosed, HandoffOpened, ModelQuoted, Stamped, TierAsked, TierPassed
from ..state import ViewState
from .blocks import add, note
from .numbers import clock, money, short

HandoffEvent = HandoffOpened | HandoffClosed | TierAsked | TierPassed | ModelQuoted
HANDOFF = (HandoffOpened, HandoffClosed, TierAsked, TierPassed, ModelQuoted)


def see_handoff(state: ViewState, stamped: Stamped, event: HandoffEvent) -> None:
    """Take in what happens to a hand-off."""
    match event:
        case HandoffOpened():
            state.handoff = state.last_handoff = event
            state.handed_over_at = stamped.at
            block = add(state, stamped, "stall", text=event.suggested_action, title=f"hand-off: {event.reason}")
            block.status = "waiting"
        case HandoffClosed():
            state.handoff, state.tier, state.waiting = None, None, ""
            note(state, stamped, f"hand-off closed by {event.by}" + (f": {event.note}" if event.note else ""))
        case TierAsked():
            state.tier = event
            until = "" if event.until is None else f"for {clock(event.until - stamped.at)}"
            note(state, stamped, f"asks {event.name}", right=until)
        case TierPassed():
            state.tier = None
            note(state, stamped, f"tier {event.number} passed: {event.why}")
        case ModelQuoted():
            state.quoted = event
            note(state, stamped, quote_words(event), right=f"/model {event.model} once more switches")
        case _:
            assert_never(event)


def quote_words(event: ModelQuoted) -> str:
    """`openai/gpt-x would read 48k tokens anew: 0.14 USD, where reading them from the cache costs 0.01`."""
    cost = "at an unknown price" if event.cold_usd is None else f"for {money(event.cold_usd)} USD"
    words = f"{event.model} has a cold cache: it reads {short(event.prompt_tokens)} tokens anew {cost}"
    return words if not event.warm_usd else f"{words}; the model now, from its cache, for {money(event.warm_usd)}"
