"""Show a hand-off: who is asked, who accepts it, and what another model would cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from ...protocol import HandoffClosed, HandoffOpened, ModelQuoted, Stamped, TierAsked, TierPassed
from .blocks import add, note
from .numbers import clock, money, short

if TYPE_CHECKING:
    from ..state import ViewState

HandoffEvent = HandoffOpened | HandoffClosed | TierAsked | TierPassed | ModelQuoted
HANDOFF = (HandoffOpened, HandoffClosed, TierAsked, TierPassed, ModelQuoted)


def show_handoff(state: ViewState, stamped: Stamped, event: HandoffEvent) -> None:
    """Show an event of a hand-off."""
    match event:
        case HandoffOpened():
            block = add(state, stamped, "stall", text=event.suggested_action, title=f"hand-off: {event.reason}")
            block.status = "waiting"
        case HandoffClosed():
            state.waiting = ""
            note(state, stamped, f"hand-off closed by {event.by}" + (f": {event.note}" if event.note else ""))
        case TierAsked():
            until = "" if event.until is None else f"for {clock(event.until - stamped.at)}"
            note(state, stamped, f"asks {event.name}", right=until)
        case TierPassed():
            note(state, stamped, f"tier {event.number} passed: {event.why}")
        case ModelQuoted():
            state.quoted = event
            note(state, stamped, quote_words(event), right=f"/model {event.model} once more switches")
        case _:
            assert_never(event)


def quote_words(event: ModelQuoted) -> str:
    """Describe the cost of a switch: `openai/gpt-x has a cold cache: it reads 48k tokens again for 0.14 USD`."""
    cost = "at an unknown price" if event.cold_usd is None else f"for {money(event.cold_usd)} USD"
    words = f"{event.model} has a cold cache: it reads {short(event.prompt_tokens)} tokens again {cost}"
    return words if not event.warm_usd else f"{words}; the model now, from its cache, for {money(event.warm_usd)}"
