"""Events and the state that they reduce to."""

from __future__ import annotations

from fakes.played_events import Script, started
from rundry.agent import (
    Block,
    CallAdmitted,
    CheckFinished,
    Event,
    LoopKind,
    ViewState,
    reduce_all,
)

ADMITTED = CallAdmitted(prompt_tokens=3_000, max_tokens=900, worst_usd=0.1, worst_tokens=4_500)


def seen(*events: Event, loop: LoopKind = LoopKind.GOAL) -> ViewState:
    state, script = ViewState(), Script()
    reduce_all(state, script.stamp(started(loop=loop), *events))
    return state


def last(state: ViewState) -> Block:
    return state.blocks[-1]


def check(failing: int | None, **changes: object) -> CheckFinished:
    fields = {"command": "pytest -q", "passed": failing == 0, "exit_code": 1, "timed_out": False, "output": "out"}
    return CheckFinished(**{**fields, "failing": failing, **changes})  # type: ignore[arg-type]
