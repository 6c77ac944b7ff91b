"""Shared code of the loops whose passes change files: continue a pass, end it, and check the budget for another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..protocol import Again, Decision, Finish, Reason, Work, WorkKind
from ..stops.budget import Exhausted, admit
from ..stops.margin import Margin
from ..stops.reserve import Reserve
from .goal import next_words
from .state import LoopState, common_end, met, undecided_handoff

if TYPE_CHECKING:
    from ..facts.passes import PassFacts

BEGIN: WorkKind = "begin"
CLOSE: WorkKind = "close"
MEASURE: WorkKind = "measure"
"""Kinds of work that do not call a model."""
TRY: WorkKind = "try"
"""Kind of work for one try of a pass."""
_ANY_WINDOW = 32_000
"""A context window in tokens, used only to check whether any budget is left."""
SILENCES = 2
"""A pass ends after this many answers in a row without a tool call. After the first one, the model gets a reminder."""


def pass_facts(state: LoopState) -> PassFacts:
    """Return the facts of the passes, for a loop that has passes."""
    assert state.facts.pass_facts is not None  # set for every loop that calls this
    return state.facts.pass_facts


def continue_pass(state: LoopState, passing: PassFacts, cap: int | None) -> Decision:
    """Return the next step of the open pass, the work that closes it, or the end of the run.

    `cap`: the maximum number of steps of a pass; None: there is none.
    """
    if passing.rolling_back is not None:
        return Again([Work(kind=CLOSE)])
    doubt = undecided_handoff(state)
    why = pass_end_reason(state, passing, cap, met(state) or (doubt.detail if doubt else None))
    if doubt is not None and why is not None:
        return doubt
    if end := common_end(state):
        return end
    if why is not None:
        return Again([Work(kind=CLOSE, about=why)])
    kind, text = next_words(state.facts)
    return Again([Work(prompt=text, prompt_kind=kind)])


def pass_end_reason(state: LoopState, passing: PassFacts, cap: int | None, met_conditions: str | None) -> str | None:
    """Return why the open pass ends, or None if it continues. `met_conditions`: the predicates that hold, in words."""
    facts = state.facts
    if met_conditions is not None and passing.steps and passing.open is not None and not passing.open.green:
        return met_conditions
    if facts.finish is not None and (met_conditions is not None or not facts.spec.predicates.exist):
        return "the model called finish"
    if passing.silences >= SILENCES:
        return "the model stopped calling tools"
    if cap is not None and passing.steps >= cap:
        return steps_used(cap)
    return None


def steps_used(cap: int) -> str:
    """Return the reason for the end of a pass or a try that reached its limit of steps."""
    return f"it used its {cap} steps"


def budget_end(state: LoopState) -> Finish | None:
    """Return the end of the run if the budget does not allow another model call, so that no further pass is started."""
    facts = state.facts
    found = admit(
        facts.budget,
        facts.spent,
        0,
        price=state.price,
        margin=Margin(facts.margins),
        reserve=Reserve(),
        window=_ANY_WINDOW,
        max_output=None,
        now=state.now,
    )
    return Finish(reason=Reason.BUDGET, detail=found.detail, wrap_up=True) if isinstance(found, Exhausted) else None
