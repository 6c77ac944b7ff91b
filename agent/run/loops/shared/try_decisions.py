"""The tries of an `improve` pass: they run in parallel, then the pass is closed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol import Again, Decision, Finish, ImproveSpec, PassStarted, Reason, Work, try_name
from .loop_state import LoopState, common_end
from .pass_decisions import CLOSE, TRY

if TYPE_CHECKING:
    from ....state.facts.pass_facts import PassFacts


def decide_tries(state: LoopState, passing: PassFacts, started: PassStarted, spec: ImproveSpec) -> Decision:
    """Start the tries that have not ended, up to the concurrency limit; close the pass when all have ended."""
    if passing.rolling_back is not None or passing.keeping is not None or passing.chosen is not None:
        return Again([Work(kind=CLOSE)])
    if end := common_end(state):
        return end
    names = {candidate: try_name(started.number, candidate) for candidate in range(1, started.tries + 1)}
    left = [candidate for candidate in names if passing.tries.get(candidate) is None]
    if left or state.busy:  # a try records its end before its work is over
        idle = [candidate for candidate in left if names[candidate] not in state.busy]
        free = max(0, spec.concurrency - len(state.busy))
        return Again([Work(kind=TRY, work=names[one], about=str(one)) for one in idle[:free]])
    return all_failed(passing, started) or Again([Work(kind=CLOSE, about="all tries ended")])


def all_failed(passing: PassFacts, started: PassStarted) -> Finish | None:
    """Return the end of the run if every try failed because of a fault, or None."""
    faults = [end for end in passing.tries.values() if end is not None and end.fault is not None]
    if len(faults) < started.tries:
        return None
    detail = f"no try of pass {started.number} succeeded: {faults[0].fault}"
    return Finish(reason=Reason.ERROR, detail=detail, retryable=any(one.retryable for one in faults))
