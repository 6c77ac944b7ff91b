"""The fix loop: one goal run for each finding of a search, one after the other."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ...protocol import Again, Decision, Finish, FixSpec, Reason, Work, child_name
from ...protocol.text.counts import plural
from .shared.child_end import end_of_child
from .shared.pass_decisions import budget_end

if TYPE_CHECKING:
    from ...state.common.child_facts import Children
    from .shared.loop_state import LoopState


def decide(state: LoopState) -> Decision:
    """Start the next child run, or continue an open one; end when every finding has had its run."""
    spec, children = state.facts.spec.fix, state.facts.common.children
    assert spec is not None  # `rundry fix` sets it for this loop
    if state.busy:
        return Again([])
    if end := end_of_child(state):
        return end
    number = next_child(spec, children)
    if number is None:
        return _all_ended(spec, children)
    if end := budget_end(state):
        left = len(spec.targets) - sum(not child.is_open for child in children.by_number.values())
        detail = f"{end.detail}; {_findings(left)} left"
        return Finish(reason=Reason.BUDGET, detail=detail, limit=end.limit)
    return Again([Work(work=child_name(number), kind="child", about=spec.targets[number - 1].key)])


def next_child(spec: FixSpec, children: Children) -> int | None:
    """Return the number of the child run that comes next: an open one first.

    Returns None if every finding has had one.
    """
    if children.open is not None:
        return children.open.number
    number = len(children.by_number) + 1
    return number if number <= len(spec.targets) else None


def _all_ended(spec: FixSpec, children: Children) -> Finish:
    ended = [child.finished for child in children.by_number.values() if child.finished is not None]
    done = sum(each.complete for each in ended)
    others = Counter(each.reason.value for each in ended if not each.complete)
    words = [f"{done} of {_findings(len(spec.targets))} done", *(f"{count} {why}" for why, count in others.items())]
    detail = ", ".join(words)
    if not others:
        return Finish(reason=Reason.DONE, detail=detail)
    if Reason.BUDGET.value in others:
        return Finish(reason=Reason.BUDGET, detail=f"{detail}: the share of the budget was too small")
    return Finish(reason=Reason.PARTIAL, detail=detail)


def _findings(count: int) -> str:
    return plural(count, "finding")
