"""The interval loop: a fresh pass at fixed times. An overrun delays the next pass; passes never overlap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol import Again, Decision, Finish, IntervalSpec, Reason, Sleeping, Wait, Work
from ...protocol.text.counts import plural
from .shared.continue_pass import continue_pass
from .shared.loop_state import LoopState, common_end, never_started
from .shared.pass_decisions import BEGIN, budget_end, pass_facts

if TYPE_CHECKING:
    from ...state.facts.pass_facts import PassFacts

SKIPS = 3
"""After this many passes in a row that could not start, a person is asked."""


def decide(state: LoopState) -> Decision:
    """Continue the pass, start the next one, or sleep until it is due. The loop never ends by itself."""
    spec, passing = state.facts.spec.interval, pass_facts(state)
    assert spec is not None  # the command line sets it for this loop
    if refused := never_started(state.facts):
        return refused
    if passing.open is not None:
        return continue_pass(state, passing, spec.pass_steps)
    if end := common_end(state) or budget_end(state):
        return end
    if passing.skipped >= SKIPS:
        why = f"{plural(passing.skipped, 'pass')} in a row were skipped"
        return Finish(reason=Reason.HANDOFF, detail=f"{why}: {passing.done[-1].why}")
    left = seconds_to_next(state, passing, spec)
    if left <= 0:
        return Again([Work(kind=BEGIN)])
    why = f"pass {passing.number + 1} is due"
    return Wait(left, "clock", Sleeping(seconds=left, asked=left, why=why, until=state.now + left))


def seconds_to_next(state: LoopState, passing: PassFacts, spec: IntervalSpec) -> float:
    """Return the seconds until the next pass. 0 or less: it is due, like the first pass or a pass after a wake-up."""
    if passing.last is None or passing.last.began is None or passing.slept is not None:
        return 0.0
    return min(spec.every, passing.last.began + spec.every - state.now)  # the clock may have been set back
