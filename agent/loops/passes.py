"""What loops whose passes change files have in common: a pass begins, takes its steps, is over, and is closed."""

from __future__ import annotations

from ..facts.passes import PassFacts
from ..protocol import Again, Decision, Finish, Reason, Work
from ..stops import Exhausted, Margin, Reserve, admit
from .goal import next_words
from .state import LoopState, ends, met, undecided

BEGIN, CLOSE, MEASURE = "begin", "close", "measure"
"""Kinds of works that no model does."""
TRY = "try"
"""Kind of the work of one candidate."""
_ANY_WINDOW = 32_000
"""Tokens. What counts is whether anything is left at all."""
SILENCES = 2
"""Answers without a tool in a row after which a pass is over: the first one is nudged."""


def passing_of(state: LoopState) -> PassFacts:
    """The passes of a loop that has some."""
    assert state.facts.passing is not None  # the fold makes them for these loops
    return state.facts.passing


def go_on(state: LoopState, passing: PassFacts, cap: int) -> Decision:
    """The next step of the open pass; its close; or why the run ends in the middle of it."""
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
    """Why the open pass is over, in words; None: it continues. `assured`: what holds."""
    facts = state.facts
    if assured is not None and passing.steps and passing.open is not None and not passing.open.green:
        return assured
    if facts.finish is not None and (assured is not None or not facts.spec.predicates.exist):
        return "the model called finish"
    if passing.silences >= SILENCES:
        return "the model fell silent"
    if passing.steps >= cap:
        return f"it took its {cap} steps"
    return None


def used_up(state: LoopState) -> Finish | None:
    """No call is left for another pass: the run need not begin it, nor sleep until then."""
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
