"""A pass of `improve` that is a child run: the run is driven to its end, then the pass is closed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol import Again, ChildFinished, Decision, Finish, ImproveSpec, PassStarted, Reason, Wait, Work, child_name
from .passes import CLOSE, budget_end
from .state import LoopState, common_end, undecided_handoff

if TYPE_CHECKING:
    from ...facts.common.children import Child
    from ...facts.passes import PassFacts


def decide_run(state: LoopState, passing: PassFacts, started: PassStarted) -> Decision:
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


def end_between(state: LoopState, passing: PassFacts) -> Finish | Wait | None:
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


def are_too_small(state: LoopState, spec: ImproveSpec) -> bool:
    """Return whether each of the last passes that count for the plateau used up its share of the budget."""
    newest = list(state.facts.common.children.by_number.values())[-spec.patience :]
    return bool(newest) and all(_used_share(child, spec.pass_steps) for child in newest)


def _used_share(child: Child, pass_steps: int) -> bool:
    is_limited = child.finished is not None and child.finished.reason is Reason.BUDGET
    return is_limited and child.spent.steps < pass_steps


def _why(ended: ChildFinished) -> str:
    return f"its run ended with {ended.reason}: {ended.detail}"
