"""Continue the open pass of a run, or end it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol import Again, Decision, Work
from .loop_state import LoopState, common_end, met, undecided_handoff
from .next_words import next_words
from .pass_decisions import CLOSE, steps_used

if TYPE_CHECKING:
    from ....state.facts.pass_facts import PassFacts

_SILENCES = 2
"""A pass ends after this many answers in a row without a tool call. After the first one, the model gets a reminder."""


def continue_pass(state: LoopState, passing: PassFacts, cap: int | None) -> Decision:
    """Return the next step of the open pass, the work that closes it, or the end of the run.

    `cap`: the maximum number of steps of a pass, or None if there is none.
    """
    if passing.rolling_back is not None or passing.keeping is not None:
        return Again([Work(kind=CLOSE)])
    doubt = undecided_handoff(state)
    why = _end_reason(state, passing, cap, met(state) or (doubt.detail if doubt else None))
    if doubt is not None and why is not None:
        return doubt
    if end := common_end(state):
        return end
    if why is not None:
        return Again([Work(kind=CLOSE, about=why)])
    kind, text = next_words(state.facts)
    return Again([Work(prompt=text, prompt_kind=kind)])


def _end_reason(state: LoopState, passing: PassFacts, cap: int | None, met_conditions: str | None) -> str | None:
    """Return why the open pass ends, or None if it continues. `met_conditions`: the predicates that hold, in words."""
    facts = state.facts
    if met_conditions is not None and passing.steps and passing.open is not None and not passing.open.green:
        return met_conditions
    if facts.finish is not None and (met_conditions is not None or not facts.spec.predicates.exist):
        return "the model called finish"
    if passing.silences >= _SILENCES:
        return "the model stopped calling tools"
    if cap is not None and passing.steps >= cap:
        return steps_used(cap)
    return None
