"""The naive loop, for comparison: it trusts the model when it stops, and its outcome is `claimed`."""

from __future__ import annotations

from ...protocol import Again, Decision, Finish, Reason, Work
from .shared.loop_state import LoopState, common_end, failing_checks, is_silent, met


def decide(state: LoopState) -> Decision:
    """End when the model stops calling tools, or calls `finish`."""
    if end := common_end(state):
        return end
    if is_silent(state.facts) or state.facts.finish is not None:
        return Finish(reason=Reason.CLAIMED, detail=f"the model stopped calling tools; {_checked(state)}")
    return Again([Work()])


def _checked(state: LoopState) -> str:
    """Describe the results of the checks, for information only: they do not influence this loop."""
    if passed := met(state):
        return passed
    failing = [f"{check.command} (exit code {check.exit_code})" for check in failing_checks(state.facts)]
    if failing:
        return f"check failed: {', '.join(failing)}"
    return "not all conditions are met" if state.facts.spec.predicates.exist else "nothing was checked"
