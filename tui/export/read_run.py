"""Read a whole run for an export, with a bounded part of its entries and of its meters in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rundry.agent import (
    Blocks,
    CheckFinished,
    RunEnded,
    ScoreMeasured,
    Stamped,
    StepFinished,
    ViewState,
    as_of_now,
    load_older,
    reduce,
)

if TYPE_CHECKING:
    from rundry.agent import Journal, Redactor

_BATCH = 500
_IN_MEMORY = 300
"""Number of entries to keep; the older ones are built again, page by page."""
_MOST_POINTS = 400
"""Maximum number of points of a plot; above it, each second one is dropped."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A run as its journal has it. Older blocks are rebuilt from the journal while they are iterated over."""

    state: ViewState
    began: float
    """Unix seconds."""
    samples: MeterSamples
    hide: Redactor
    """Hides keys, also those that are in the environment only now."""


def read_run(journal: Journal) -> Recorded:
    """Read all events. Raises JournalError."""
    state = ViewState(blocks=Blocks(limit=_IN_MEMORY))
    samples = MeterSamples()
    while events := journal.read(state.last_seq, _BATCH):
        for stamped in events:
            reduce(state, stamped)
            samples.take(state, stamped)
    load_older(state, journal)
    if state.outcome is not None:
        state.outcome = as_of_now(state.outcome, journal)
    return Recorded(state, float(journal.meta("created") or 0), samples, journal.redactor)


@dataclass(frozen=True, slots=True)
class Sample:
    """The meters after one step."""

    step: int
    tokens: int
    usd: float
    seconds: float
    context: float | None
    """Share of the context window that the newest prompt filled, or None if it is unknown."""
    failing: int | None
    """Failures of the newest check, or None if no check counted them."""


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
                self.scores.append((state.common.ledger.spent.steps, score))
            case _:
                return
        if len(self.points) >= _MOST_POINTS:
            self.points, self._every = self.points[1::2], 2 * self._every
        if len(self.scores) >= _MOST_POINTS:
            self.scores = self.scores[1::2]

    def _add(self, sample: Sample) -> None:
        if self.points and self.points[-1].step == sample.step:
            self.points.pop()
        self.points.append(sample)


def _sample(state: ViewState, at: float) -> Sample:
    spent = state.common.ledger.spent
    return Sample(
        step=spent.steps,
        tokens=spent.tokens.total,
        usd=spent.usd,
        seconds=max(spent.seconds, state.busy_seconds(at)),
        context=state.prompt_tokens / state.window if state.window and state.prompt_tokens else None,
        failing=state.check.failing if state.check is not None else None,
    )
