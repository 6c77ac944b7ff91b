"""The naive loop, for comparison: it trusts the model when it stops, and its outcome is `claimed`."""

from __future__ import annotations

from ..protocol import Again, Decision, Finish, Reason, Work
from .state import LoopState, ends, failing_checks, is_silent, met


def decide(state: LoopState) -> Decision:
    """End when the model stops calling tools, or calls `finish`."""
    if end := ends(state):
        return end
    if is_silent(state.facts) or state.facts.finish is not None:
        return Finish(reason=Reason.CLAIMED, detail=f"the model stopped calling tools; {_checked(state)}")
    return Again([Work()])


def _checked(state: LoopState) -> str:
    """Return what the checks said. They inform the reader: this loop neither continues nor ends because of them."""
    if passed := met(state):
        return passed
    failing = [f"{check.command} (exit code {check.exit_code})" for check in failing_checks(state.facts)]
    if failing:
        return f"check failed: {', '.join(failing)}"
    return "not everything asked for is met" if state.facts.spec.predicates.exist else "nothing was checked"
