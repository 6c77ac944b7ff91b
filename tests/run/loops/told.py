"""The history of a run that a loop decides on."""

from __future__ import annotations

from typing import Any

from rundry.agent.protocol import (
    Again,
    Budget,
    Decision,
    IntervalSpec,
    LoopKind,
    ModelSpec,
    PassFinished,
    PassStarted,
    Prompted,
    ReplyFinished,
    RunSpec,
    Stamped,
    StepFinished,
    StepStarted,
    ToolCalled,
    ToolFinished,
    WorkResult,
)
from rundry.agent.run.loops.decider import decider
from rundry.agent.run.loops.shared.loop_state import LoopState
from rundry.agent.state.facts.run_facts import RunFacts

T0 = 1_800_000_000.0


class Told:
    """Facts, told event by event."""

    def __init__(self, loop: LoopKind, budget: Budget | None = None, **spec: Any) -> None:
        told = RunSpec(
            run_id="r",
            loop=loop,
            task="t",
            workspace="/w",
            model=ModelSpec(name="m"),
            budget=budget or Budget(),
            **spec,
        )
        self.facts = RunFacts(told)
        self._seq = 0

    def tell(self, *events: Any, step: int | None = None) -> Told:
        for event in events:
            self._seq += 1
            self.facts.apply(Stamped(self._seq, 0.0, step, None, event))
        return self

    def step(self, *, calls: int = 1) -> Told:
        number = self.facts.step + 1
        return self.tell(
            StepStarted(number=number), ReplyFinished(finish="x", calls=calls), StepFinished(number=number), step=number
        )

    def asks(self, seconds: float, *, ok: bool = True) -> Told:
        self.step()
        name = f"c{self._seq}"
        return self.tell(
            ToolCalled(call_id=name, tool="wake_after", arguments={"seconds": seconds, "reason": "CI"}),
            ToolFinished(call_id=name, tool="wake_after", ok=ok, result="noted"),
            step=self.facts.step,
        )

    def decide(self, *results: WorkResult, at: float = 0.0, **state: Any) -> Decision:
        return decider(self.facts.spec.loop)(LoopState(self.facts, results, now=T0 + at, **state))


def kinds(decision: Decision) -> list[str]:
    assert isinstance(decision, Again), decision
    return [work.kind for work in decision.works]


def interval(**spec: Any) -> Told:
    return Told(LoopKind.INTERVAL, interval=IntervalSpec(every=300.0, **spec))


def opened(told: Told, number: int = 1, at: float = 0.0) -> Told:
    return told.tell(PassStarted(number=number, began=T0 + at, fresh=True), Prompted(kind="task", text="go"))


def closed(told: Told, number: int = 1, verdict: str = "kept") -> Told:
    return told.tell(PassFinished(number=number, verdict=verdict))
