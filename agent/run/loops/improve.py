"""The improve loop: measure, change, measure, and keep improvements, until the score stops improving."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol import (
    Again,
    Budget,
    ChildFinished,
    Decision,
    Finish,
    ImproveSpec,
    PassStarted,
    Reason,
    Wait,
    Work,
    child_name,
)
from ...protocol.text.counts import plural
from .shared.continue_pass import continue_pass
from .shared.loop_state import LoopState, common_end, undecided_handoff
from .shared.pass_decisions import BEGIN, CLOSE, MEASURE, budget_end, pass_facts
from .shared.try_decisions import decide_tries

if TYPE_CHECKING:
    from ...state.common.child_facts import Child
    from ...state.facts.pass_facts import PassFacts

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
    end = _end_between(state, passing) if spec.pass_loop is not None else common_end(state) or budget_end(state)
    if end is not None:
        return end
    if passing.unmeasured >= spec.patience:
        return _not_measured(passing, spec)
    if passing.stale >= spec.patience:
        by = f" by more than {spec.min_delta:g}" if spec.min_delta else ""
        detail = f"the best score has not improved{by} for {plural(passing.stale, 'pass')}: best {passing.best:g}"
        detail = f"{detail}, at first {passing.scores[0].score:g}"
        if spec.pass_loop is not None and _are_too_small(state, spec):
            return Finish(reason=Reason.BUDGET, detail=f"{detail}; the share of the budget of each was too small")
        return Finish(reason=Reason.PLATEAU, detail=detail)
    return Again([Work(kind=BEGIN)])


def _decide_open(state: LoopState, passing: PassFacts, started: PassStarted, spec: ImproveSpec) -> Decision:
    if spec.pass_loop is not None:
        return _decide_run(state, passing, started)
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


def _decide_run(state: LoopState, passing: PassFacts, started: PassStarted) -> Decision:
    """Start or continue the child run of the open pass, which has the pass's number; close the pass when it ended."""
    if passing.rolling_back is not None or passing.keeping is not None:
        return Again([Work(kind=CLOSE)])
    if state.busy:
        return Again([])
    if end := common_end(state):
        return end
    child = state.facts.common.children.by_number.get(started.number)
    if child is None or child.finished is None:
        return Again([Work(work=child_name(started.number), kind="child")])
    if child.finished.resumes and child.finished.reason is Reason.HANDOFF:
        return Finish(reason=Reason.HANDOFF, detail=f"the child run {child.run_id}: {child.finished.detail}")
    return undecided_handoff(state) or Again([Work(kind=CLOSE, about=_why(child.finished))])


def _end_between(state: LoopState, passing: PassFacts) -> Finish | Wait | None:
    """Return the end of a run between two such passes, or None. It has no conversation to wrap up."""
    if end := common_end(state):
        return end
    if end := budget_end(state):
        return Finish(reason=end.reason, detail=end.detail, limit=end.limit)
    return _starved(state.facts.common.children.by_number.get(passing.number))


def _starved(newest: Child | None) -> Finish | None:
    """Return the end of a run whose budget no longer admits the first call of a pass, or None."""
    ended = None if newest is None else newest.finished
    if newest is None or ended is None or ended.reason is not Reason.BUDGET:
        return None
    if newest.spent.steps or newest.spent.counted_tokens:
        return None
    return Finish(reason=Reason.BUDGET, detail=f"pass {newest.number}: {ended.detail}", limit=ended.limit)


def _are_too_small(state: LoopState, spec: ImproveSpec) -> bool:
    """Return whether each of the last passes that count for the plateau used up its share of the budget."""
    newest = list(state.facts.common.children.by_number.values())[-spec.patience :]
    return bool(newest) and all(_used_share(child, spec.pass_steps) for child in newest)


def _used_share(child: Child, pass_steps: int) -> bool:
    is_limited = child.finished is not None and child.finished.reason is Reason.BUDGET
    return is_limited and child.spent.steps < pass_steps


def _why(ended: ChildFinished) -> str:
    return f"its run ended with {ended.reason}: {ended.detail}"
