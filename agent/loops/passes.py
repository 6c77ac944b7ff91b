"""Common code of loops whose passes change files: a pass begins, runs its steps, is over, and is closed."""

from __future__ import annotations

from ..facts.passes import PassFacts
from ..protocol import Again, Decision, Finish, Reason, Work, WorkKind
from ..stops import Exhausted, Margin, Reserve, admit
from .goal import next_words
from .state import LoopState, ends, met, undecided

BEGIN: WorkKind = "begin"
CLOSE: WorkKind = "close"
MEASURE: WorkKind = "measure"
"""Kinds of works that do not call a model."""
TRY: WorkKind = "try"
"""Kind of the work of one candidate."""
_ANY_WINDOW = 32_000
"""A context window in tokens, only to find out whether any budget is left."""
SILENCES = 2
"""A pass is over after this many answers in a row without a tool call; after the first one, the model gets a nudge."""


def passing_of(state: LoopState) -> PassFacts:
    """Return the passes of a loop that has passes."""
    assert state.facts.passing is not None  # the facts create it for these loops
    return state.facts.passing


def go_on(state: LoopState, passing: PassFacts, cap: int) -> Decision:
    """Return the next step of the open pass, its close, or why the run ends before that."""
    if passing.going_back is not None:
        return Again([Work(kind=CLOSE)])
    doubt = undecided(state)
    why = over(state, passing, cap, met(state) or (doubt.detail if doubt else None))
    if doubt is not None and why is not None:
        return doubt
    if end := ends(state):
        return end
    if why is not None:
        return Again([Work(kind=CLOSE, about=why)])
    kind, text = next_words(state.facts)
    return Again([Work(prompt=text, prompt_kind=kind)])


def over(state: LoopState, passing: PassFacts, cap: int, assured: str | None) -> str | None:
    """Return why the open pass is over; None: it continues. `assured`: the conditions that hold."""
    facts = state.facts
    if assured is not None and passing.steps and passing.open is not None and not passing.open.green:
        return assured
    if facts.finish is not None and (assured is not None or not facts.spec.predicates.exist):
        return "the model called finish"
    if passing.silences >= SILENCES:
        return "the model stopped calling tools"
    if passing.steps >= cap:
        return f"it took its {cap} steps"
    return None


def used_up(state: LoopState) -> Finish | None:
    """End the run if no model call is left for another pass, so that it neither starts it nor sleeps until then."""
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
