"""What stands in the empty message box. No textual in here."""

from __future__ import annotations

from rundry.agent import LoopKind

from ..run_controller import RunController
from ..setup.resuming import ended_on_limit


def placeholder(controller: RunController) -> str:
    """What a message would do just now."""
    state = controller.state
    if state.question is not None:
        return "your answer"
    if not controller.begun:
        return "what should be done?"
    if state.driving:
        return "a command for the model's tool; /control returns control"
    if controller.status.is_over and state.loop is LoopKind.CHAT:
        return "a message continues the chat"
    if controller.status.is_over:
        return "raise the limit to continue" if ended_on_limit(state) else "a hint continues the run"
    if state.waiting == "handoff":
        return "a message resumes the run"
    if state.finder is not None:
        return "a message, or / for commands; F2 opens the board"
    return "a message for after this step" if state.activity and not controller.status.is_at_rest else "a message"
