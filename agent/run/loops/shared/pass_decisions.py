"""Shared code of the loops whose passes change files: kinds of work, and the check of the budget for another pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....budget.admission import CallRequest, admit
from ....budget.count_margin import Margin
from ....budget.ledger import Left
from ....protocol import Exhausted, Finish, Reason, WorkKind
from ....protocol.text.counts import plural

if TYPE_CHECKING:
    from ....state.facts.pass_facts import PassFacts
    from .loop_state import LoopState

BEGIN: WorkKind = "begin"
CLOSE: WorkKind = "close"
MEASURE: WorkKind = "measure"
"""Kinds of work that do not call a model."""
TRY: WorkKind = "try"
"""Kind of work for one try of a pass."""
_ANY_WINDOW = 32_000
"""A context window in tokens, used only to check whether any budget is left."""


def pass_facts(state: LoopState) -> PassFacts:
    """Return the facts of the passes, for a loop that has passes."""
    assert state.facts.pass_facts is not None  # set for every loop that calls this
    return state.facts.pass_facts


def steps_used(cap: int) -> str:
    """Return the reason for the end of a pass or a try that reached its limit of steps."""
    return f"it used its {plural(cap, 'step')}"


def budget_end(state: LoopState) -> Finish | None:
    """Return the end of the run if the budget does not allow another model call, so that no further pass is started."""
    facts = state.facts
    request = CallRequest(
        prompt_tokens=0, margin=Margin(facts.margins), window=_ANY_WINDOW, max_output=None, now=state.now
    )
    found = admit([Left(budget=facts.budget, spent=facts.spent)], state.price, request)
    if not isinstance(found, Exhausted):
        return None
    return Finish(reason=Reason.BUDGET, detail=found.detail, limit=found.resource, wrap_up=True)
