"""The goal loop: continues while a check fails. Done means that a check passed, never that the model said so."""

from __future__ import annotations

from ..protocol import Again, Confirm, Decision, Finish, Reason, Work
from .shared.next_words import next_words
from .shared.state import (
    LoopState,
    common_end,
    is_answered,
    met,
    never_started,
    suspect_handoff,
    undecided_end,
)


def decide(state: LoopState) -> Decision:
    """Return the next step, with the messages to send to the model first, or the end of the run."""
    facts = state.facts
    if left := undecided_end(state):
        return left
    fired = met(state)
    if fired and not (facts.spec.needs_finish and facts.finish is None):
        confirms = facts.spec.predicates.confirming or facts.seals.undecided
        if confirms and facts.verdicts.is_confirmation_due:
            return Confirm()
        early = ", already met" if facts.step == 0 else ""
        return Finish(reason=Reason.DONE, detail=f"{fired}{early}")
    if refused := never_started(facts):
        return refused
    if doubt := suspect_handoff(state):
        return doubt
    if facts.finish is not None and not facts.spec.predicates.exist:
        return Finish(reason=Reason.ANSWERED, detail="a cited finish was accepted")
    if facts.spec.answers_in_text and is_answered(facts):
        return Finish(reason=Reason.ANSWERED, detail="the model answered in text")
    if end := common_end(state):
        return end
    kind, text = next_words(facts)
    return Again([Work(prompt=text, prompt_kind=kind)])
