"""What triggers the next pass, by kind of loop. Each is a pure `decide(state)`: no clock, no I/O."""

from __future__ import annotations

from collections.abc import Callable

from ..protocol import Decision, LoopKind, UserError
from . import chat, goal, naive, until_dry
from .state import LoopState

__all__ = ["LoopState", "decider"]

_DECIDERS: dict[LoopKind, Callable[[LoopState], Decision]] = {
    LoopKind.CHAT: chat.decide,
    LoopKind.GOAL: goal.decide,
    LoopKind.NAIVE: naive.decide,
    LoopKind.UNTIL_DRY: until_dry.decide,
}


def decider(kind: LoopKind) -> Callable[[LoopState], Decision]:
    """The loop's decision. Raises UserError for a loop that this version does not drive."""
    if kind not in _DECIDERS:
        known = ", ".join(_DECIDERS)
        raise UserError(f"--loop {kind}: this version drives {known}")
    return _DECIDERS[kind]
