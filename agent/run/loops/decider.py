"""Decide what a run does next, by loop kind. Each loop is a pure `decide(state)`: no clock, no I/O."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...protocol import Decision, LoopKind
from . import chat, fix, goal_tries, improve, interval, naive, paced, plan, repeat, review, until_dry

if TYPE_CHECKING:
    from .shared.loop_state import LoopState


def decider(kind: LoopKind) -> Callable[[LoopState], Decision]:
    """Return the `decide` function of a loop kind."""
    match kind:
        case LoopKind.CHAT:
            decide = chat.decide
        case LoopKind.GOAL:
            decide = goal_tries.decide
        case LoopKind.NAIVE:
            decide = naive.decide
        case LoopKind.UNTIL_DRY:
            decide = until_dry.decide
        case LoopKind.INTERVAL:
            decide = interval.decide
        case LoopKind.PACED:
            decide = paced.decide
        case LoopKind.IMPROVE:
            decide = improve.decide
        case LoopKind.FIX:
            decide = fix.decide
        case LoopKind.REPEAT:
            decide = repeat.decide
        case LoopKind.REVIEW:
            decide = review.decide
        case LoopKind.PLAN:
            decide = plan.decide
    return decide
