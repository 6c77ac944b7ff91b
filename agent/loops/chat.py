"""The chat loop: each message of the person starts a pass; the person sees every step and can stop it."""

from __future__ import annotations

from ..protocol import Again, Decision, Finish, Reason, Wait, Work
from ..stops.stall.hint import stall_hint
from .shared.state import LoopState, common_end, is_silent


def decide(state: LoopState) -> Decision:
    """Run steps until the model has answered, then wait for the next message."""
    facts = state.facts
    match common_end(state):
        case Finish(reason=Reason.BUDGET) as end:
            return end
        case Finish() | Wait():
            return Wait(None, "message")
        case None:
            pass
    has_message = any(m.role == "user" for m in facts.main.messages)
    if not has_message or is_silent(facts) or facts.interrupted:
        return Wait(None, "message")
    stall = facts.stall
    text = stall_hint(stall.kind, stall.signature) if stall and stall.response == "hint" else None
    return Again([Work(prompt=text, prompt_kind="hint")])
