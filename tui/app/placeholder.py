"""The text in the empty message box. Does not import textual."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rundry.agent import LoopKind, ViewState

from ..control.resume_command import ended_on_limit
from ..text.shorten_cells import cells_cut
from ..text.show_text import one_line

if TYPE_CHECKING:
    from ..control.run_controller import RunController
    from ..keys.keymap import Keymap

_GOAL = 32
"""Characters of the check that are shown."""


def placeholder(controller: RunController, keymap: Keymap) -> str:
    """Return what a message would do now."""
    state = controller.state
    if controller.is_read_only:
        return "this view only shows the run"
    if state.question is not None:
        return "your answer"
    if not controller.begun:
        return _before_begin(state)
    if state.is_user_in_control:
        return "a command for the model's tool; /control returns control"
    if controller.status.is_over and state.loop is LoopKind.CHAT:
        return "a message continues the chat"
    if controller.status.is_over:
        return _after_end(state)
    if state.waiting == "handoff":
        return "a message resumes the run"
    if (state.child_phase and state.loop is not LoopKind.CHAT) or state.finder is not None:
        does = "waits" if state.child_phase.endswith("waits for you") else "works"
        child = f"/ for commands; {{child}} opens the child run that {does}"
        return keymap.named(child if state.child_phase else "a message, or / for commands; {to_gate} opens the board")
    return "a message for after this step" if state.activity and not controller.status.is_at_rest else "a message"


def _before_begin(state: ViewState) -> str:
    """Ask for the task, and name the check that decides when it is done."""
    if state.loop is None or not state.loop.traits.ends_on_predicates:
        return "what should be done?   /until CMD adds a check"
    if not state.goals:
        return "what should be done?"
    goal = one_line(" and ".join(state.goals))
    return f"what should be done until {cells_cut(goal, _GOAL)} passes?"


def _after_end(state: ViewState) -> str:
    if ended_on_limit(state):
        return "raise the limit to continue"
    is_complete = state.outcome is not None and state.outcome.complete
    return "the next task" if is_complete else "a hint continues the run"
