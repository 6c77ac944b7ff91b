"""Decide what a run does next, by loop kind. Each loop is a pure `decide(state)`: no clock, no I/O."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..protocol import Decision, LoopKind
from . import chat, fix, goal_tries, improve, interval, naive, paced, repeat, until_dry

if TYPE_CHECKING:
    from .state import LoopState


def decider(kind: LoopKind) -> Callable[[LoopState], Decision]:
    """Return the `decide` function of a loop kind."""
    match kind:
        case LoopKind.CHAT:
            return chat.decide
        case LoopKind.GOAL:
            return goal_tries.decide
        case LoopKind.NAIVE:
            return naive.decide
        case LoopKind.UNTIL_DRY:
            return until_dry.decide
        case LoopKind.INTERVAL:
            return interval.decide
        case LoopKind.PACED:
            return paced.decide
        case LoopKind.IMPROVE:
            return improve.decide
        case LoopKind.FIX:
            return fix.decide
        case LoopKind.REPEAT:
            return repeat.decide
