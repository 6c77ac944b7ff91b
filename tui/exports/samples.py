"""The meters of a run over its steps, as few enough points for a plot."""

from __future__ import annotations

from dataclasses import dataclass, field

from rundry.agent import CheckFinished, RunEnded, ScoreMeasured, Stamped, StepFinished, ViewState

MOST = 400
"""Maximum number of points; above it, each second one is dropped."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The meters after one step."""

    step: int
    tokens: int
    usd: float
    seconds: float
    context: float | None
    """Share of the context window that the newest prompt filled; None: unknown."""
    failing: int | None
    """Failures of the newest check; None: no check counted them."""


@dataclass(slots=True)
class MeterSamples:
    """Points of the plots. The size does not depend on the length of the run."""

    points: list[Sample] = field(default_factory=list[Sample])
    scores: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])
    """Steps and the score measured after them."""
    _every: int = 1
    _count: int = 0

    def take(self, state: ViewState, stamped: Stamped) -> None:
        """Add or replace a point after a step, a check and the end. The state already contains the event."""
        match stamped.event:
            case StepFinished():
                self._count += 1
                if self._count % self._every == 0:
                    self._add(_sample(state, stamped.at))
            case CheckFinished() | RunEnded():
                self._add(_sample(state, stamped.at))
            case ScoreMeasured(score=score):
                self.scores.append((state.common.spending.spent.steps, score))
            case _:
                return
        if len(self.points) >= MOST:
            self.points, self._every = self.points[1::2], 2 * self._every
        if len(self.scores) >= MOST:
            self.scores = self.scores[1::2]

    def _add(self, sample: Sample) -> None:
        if self.points and self.points[-1].step == sample.step:
            self.points.pop()
        self.points.append(sample)


def _sample(state: ViewState, at: float) -> Sample:
    spent = state.common.spending.spent
    return Sample(
        step=spent.steps,
        tokens=spent.tokens.total,
        usd=spent.usd,
        seconds=max(spent.seconds, state.busy.read(at)),
        context=state.prompt_tokens / state.window if state.window and state.prompt_tokens else None,
        failing=state.check.failing if state.check is not None else None,
    )
