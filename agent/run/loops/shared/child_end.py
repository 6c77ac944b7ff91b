"""How a loop of child runs ends when one of them cannot continue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol import Finish, Reason

if TYPE_CHECKING:
    from .loop_state import LoopState


def end_of_child(state: LoopState) -> Finish | None:
    """Return the end of the run if a child run waits for a person or failed, else None."""
    for result in state.results:
        if result.handoff is not None:
            return Finish(reason=Reason.HANDOFF, detail=result.handoff)
        if result.fault is not None:
            reason = Reason.ERROR if state.facts.spent.steps else Reason.REFUSED
            return Finish(reason=reason, detail=result.fault, retryable=result.retryable)
    return None
