"""The naive loop, for comparison: it trusts the model when it stops, and its outcome is `claimed`."""

from __future__ import annotations

from ..protocol import Again, Decision, Finish, Reason, Work
from .state import LoopState, ends, is_silent


def decide(state: LoopState) -> Decision:
    """End when the model stops calling tools, or calls `finish`."""
    if end := ends(state):
        return end
    if is_silent(state.facts) or state.facts.finish is not None:
        return Finish(reason=Reason.CLAIMED, detail="the model stopped calling tools; nothing was checked")
    return Again([Work()])
