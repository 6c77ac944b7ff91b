"""A goal run with tries: one pass with several tries, of which one that passes the check is applied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol import Again, Decision, Finish, GoalTries, PassFinished, PassStarted, Reason, Work, try_name
from . import goal
from .shared.judged_end import judged_end
from .shared.loop_state import LoopState, common_end, held_before, met, never_started
from .shared.pass_decisions import BEGIN, CLOSE, TRY, budget_end, pass_facts
from .shared.try_decisions import all_failed

if TYPE_CHECKING:
    from ...state.facts.pass_facts import PassFacts


def decide(state: LoopState) -> Decision:
    """Return the decision of a goal run: with tries, the tries and then their end, else the next step."""
    spec = state.facts.spec.tries
    if spec is None:
        return goal.decide(state)
    if held_before(state.facts):
        why = "the check passes already, so it selects no try; plan again with a check that fails, or without --tries"
        return Finish(reason=Reason.REFUSED, detail=why)
    if (decision := _decide_open(state, spec)) is not None:
        return decision
    if state.facts.verdicts.is_judged_red:
        return judged_end(state) or _decide_round(state)
    if met(state) or never_started(state.facts):
        return goal.decide(state)
    return _decide_round(state)


def _decide_open(state: LoopState, spec: GoalTries) -> Decision | None:
    """Start the tries that have not ended, then close their pass. Returns None if no pass is open."""
    passing = pass_facts(state)
    started = passing.open
    if started is None:
        return None
    results = [result for result in state.results if result.exhausted is None]  # it ends one try, not the run
    if end := common_end(LoopState(state.facts, results)):
        return end
    if passing.rolling_back is not None or passing.keeping is not None or passing.chosen is not None:
        return Again([Work(kind=CLOSE)])
    return _next_tries(state, passing, started, spec)


def _decide_round(state: LoopState) -> Decision:
    """Begin the tries; end the run when they are over."""
    if (last := pass_facts(state).concluded) is not None:
        return _end_after(last)
    if end := common_end(state) or budget_end(state):
        return end
    return Again([Work(kind=BEGIN)])


def _next_tries(state: LoopState, passing: PassFacts, started: PassStarted, spec: GoalTries) -> Decision:
    names = {candidate: try_name(started.number, candidate) for candidate in range(1, started.tries + 1)}
    ended = [end for end in passing.tries.values() if end is not None]
    left = [candidate for candidate in names if passing.tries.get(candidate) is None]
    if any(end.exhausted for end in ended):  # the budget does not admit a call of another try either
        left = [candidate for candidate in left if names[candidate] in state.busy]
    if left or state.busy:  # a try records its end before its work is over
        idle = [candidate for candidate in left if names[candidate] not in state.busy]
        free = max(0, spec.concurrency - len(state.busy))
        return Again([Work(kind=TRY, work=names[one], about=str(one)) for one in idle[:free]])
    return all_failed(passing, started) or Again([Work(kind=CLOSE, about="all tries ended")])


def _end_after(last: PassFinished) -> Finish:
    """Return the end of a run whose tries are over, and whose predicates do not hold in the workspace."""
    if last.verdict == "kept":
        detail = f"try {last.candidate} of {last.tries} is in the workspace, but the goal is not met there any more"
        return Finish(reason=Reason.STAGNATION, detail=detail)
    return Finish(reason=last.ends or Reason.STAGNATION, detail=last.why)
