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
        return "what is to be done?"
    if state.driving:
        return "a command, by the model's own tool; /wheel gives it back"
    if controller.is_over and state.loop is LoopKind.CHAT:
        return "a message goes on from here"
    if controller.is_over:
        return "it goes on once the limit is raised" if ended_on_limit(state) else "a hint goes on from here"
    if state.waiting == "handoff":
        return "a message takes it up: it goes on with what you say"
    if state.finder is not None:
        return "a message, or / for commands; F2 goes to the board"
    return "a message waits for the step's end" if state.activity and not controller.is_at_rest else "a message"
