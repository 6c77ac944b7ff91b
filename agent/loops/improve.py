"""The improve loop: measure, change, measure, and keep improvements, until the score stops improving."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..protocol import Again, Budget, Decision, Finish, ImproveSpec, PassStarted, Reason, Work
from ..protocol.text.counts import plural
from .shared.continue_pass import continue_pass
from .shared.pass_runs import are_too_small, decide_run, end_between
from .shared.passes import BEGIN, MEASURE, budget_end, pass_facts
from .shared.state import LoopState, common_end
from .shared.tries import decide_tries

if TYPE_CHECKING:
    from ..facts.passes import PassFacts

NO_BUDGET = (
    "a run with --score needs an explicit budget: add --steps, --tokens, --usd, --time or --deadline, "
    "with a value other than none"
)


def decide(state: LoopState) -> Decision:
    """Measure the baseline, then run passes until the score stops improving or the budget is used up."""
    spec, passing = state.facts.spec.improve, pass_facts(state)
    assert spec is not None  # the command line sets it for this loop
    if not passing.scores:
        return _baseline(state, spec)
    if passing.open is not None:
        return _decide_open(state, passing, passing.open, spec)
    end = end_between(state, passing) if spec.pass_loop is not None else common_end(state) or budget_end(state)
    if end is not None:
        return end
    if passing.unmeasured >= spec.patience:
        return _not_measured(passing, spec)
    if passing.stale >= spec.patience:
        by = f" by more than {spec.min_delta:g}" if spec.min_delta else ""
        detail = f"the best score has not improved{by} for {plural(passing.stale, 'pass')}: best {passing.best:g}"
        detail = f"{detail}, at first {passing.scores[0].score:g}"
        if spec.pass_loop is not None and are_too_small(state, spec):
            return Finish(reason=Reason.BUDGET, detail=f"{detail}; the share of the budget of each was too small")
        return Finish(reason=Reason.PLATEAU, detail=detail)
    return Again([Work(kind=BEGIN)])


def _decide_open(state: LoopState, passing: PassFacts, started: PassStarted, spec: ImproveSpec) -> Decision:
    if spec.pass_loop is not None:
        return decide_run(state, passing, started)
    if started.tries > 1:
        return decide_tries(state, passing, started, spec)
    return continue_pass(state, passing, spec.pass_steps)


def _baseline(state: LoopState, spec: ImproveSpec) -> Decision:
    """Measure the score before anything is changed."""
    if not spec.bounded or not is_finite(state.facts.budget):
        return Finish(reason=Reason.REFUSED, detail=NO_BUDGET)
    for result in state.results:
        if result.fault is not None:
            return Finish(reason=Reason.REFUSED, detail=result.fault)
    return Again([Work(kind=MEASURE)])


def _not_measured(passing: PassFacts, spec: ImproveSpec) -> Finish:
    """End the run with an error: without measurements the effect of changes is unknown, so it is not a plateau."""
    why = f"the score could not be measured in {plural(passing.unmeasured, 'pass')} in a row"
    last = passing.done[-1].why if passing.done else ""
    return Finish(reason=Reason.ERROR, detail=f"{why} (`{spec.score}`): {last}", retryable=True)


def is_finite(budget: Budget) -> bool:
    """Return whether the budget has at least one limit."""
    return any(
        limit is not None for limit in (budget.steps, budget.tokens, budget.usd, budget.seconds, budget.deadline)
    )
