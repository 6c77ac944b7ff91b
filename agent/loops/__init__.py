"""What triggers the next pass, by kind of loop. Each is a pure `decide(state)`: no clock, no I/O."""

from __future__ import annotations

from collections.abc import Callable

from ..protocol import Decision, LoopKind
from . import chat, goal, improve, interval, naive, paced, until_dry
from .state import LoopState, met, never_started

__all__ = ["LoopState", "decider", "met", "never_started"]

_DECIDERS: dict[LoopKind, Callable[[LoopState], Decision]] = {
    LoopKind.CHAT: chat.decide,
    LoopKind.GOAL: goal.decide,
    LoopKind.NAIVE: naive.decide,
    LoopKind.UNTIL_DRY: until_dry.decide,
    LoopKind.INTERVAL: interval.decide,
    LoopKind.PACED: paced.decide,
    LoopKind.IMPROVE: improve.decide,
}


def decider(kind: LoopKind) -> Callable[[LoopState], Decision]:
    """The loop's decision."""
    return _DECIDERS[kind]
