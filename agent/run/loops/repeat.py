"""The repeat loop: a search at fixed times, each time as a child run. Searches never overlap."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from ...protocol import Again, Decision, Finish, Reason, RepeatSpec, Sleeping, Wait, Work, child_name
from .shared.pass_decisions import budget_end

if TYPE_CHECKING:
    from ...state.common.child_facts import Child, Children
    from .shared.loop_state import LoopState

FAILURES = 3
"""The run ends after this many searches in a row that failed."""
_FAILED = (Reason.ERROR, Reason.REFUSED)


def decide(state: LoopState) -> Decision:
    """Continue an open search, start the next one, or sleep until it is due. The loop never ends by itself."""
    spec, children = state.facts.spec.repeat, state.facts.common.children
    assert spec is not None  # `rundry find --every` sets it for this loop
    if state.busy:
        return Again([])
    for result in state.results:
        if result.handoff is not None:
            return Finish(reason=Reason.HANDOFF, detail=result.handoff)
        if result.fault is not None:
            return Finish(reason=Reason.ERROR, detail=result.fault, retryable=result.retryable)
    newest = children.newest
    number = 1 if newest is None else newest.number + 1
    if newest is not None and newest.is_open:
        return Again([Work(work=child_name(newest.number), kind="child")])
    if end := _failed(children, steps=state.facts.spent.steps) or budget_end(state) or _starved(newest):
        return Finish(reason=end.reason, detail=end.detail, limit=end.limit, retryable=end.retryable)
    left = seconds_to_next(state, children, spec)
    if left <= 0:
        return Again([Work(work=child_name(number), kind="child")])
    return Wait(
        left, "clock", Sleeping(seconds=left, asked=left, why=f"search {number} is due", until=state.now + left)
    )


def seconds_to_next(state: LoopState, children: Children, spec: RepeatSpec) -> float:
    """Return the seconds until the next search. 0 or less: it is due, like the first one or one after a wake-up."""
    if children.newest is None or children.woken:
        return 0.0
    return min(spec.every, children.newest.started + spec.every - state.now)  # the clock may have been set back


def _starved(newest: Child | None) -> Finish | None:
    """Return the end of a run whose budget no longer admits the first call of a search, or None."""
    ended = None if newest is None else newest.finished
    if newest is None or ended is None or ended.reason is not Reason.BUDGET or newest.spent.counted_tokens:
        return None
    if newest.spent.steps:
        return None
    return Finish(reason=Reason.BUDGET, detail=f"search {newest.number}: {ended.detail}", limit=ended.limit)


def _failed(children: Children, *, steps: int) -> Finish | None:
    """Return the end of a run whose first search was refused, or whose last searches failed."""
    ended = [child.finished for child in reversed(children.by_number.values()) if child.finished is not None]
    failed = list(takewhile(lambda each: each.reason in _FAILED, ended))
    if len(ended) == 1 and failed and not steps:
        return Finish(reason=failed[0].reason, detail=failed[0].detail, retryable=failed[0].reason is Reason.ERROR)
    if len(failed) < FAILURES:
        return None
    detail = f"{len(failed)} searches in a row failed: {failed[0].detail}"
    return Finish(reason=Reason.ERROR, detail=detail, retryable=True)
