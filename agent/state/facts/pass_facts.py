"""State of passes in interval, paced and improve runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

from ...protocol import (
    WAKE,
    CallAdmitted,
    EffectsApplied,
    HandoffClosed,
    HandoffOpened,
    ImageRef,
    PassFinished,
    PassKept,
    PassStarted,
    PatchKept,
    QuestionAnswered,
    Reason,
    ReplyFinished,
    RunEnded,
    RunResumed,
    RunSpec,
    Said,
    ScoreMeasured,
    ScoreNotMeasured,
    Sleeping,
    Stamped,
    StepFinished,
    StepStarted,
    ToolCalled,
    ToolFinished,
    TryChosen,
    TryFinished,
    TryMeasured,
    TryStarted,
    Unpaused,
    Woken,
)

TRY_EVENTS = (TryStarted, TryFinished, TryMeasured)
"""Events of a try that affect the state of its pass."""


@dataclass(frozen=True, slots=True)
class RequestedDelay:
    """A delay that the model requested."""

    seconds: float
    reason: str


@dataclass(slots=True)
class PassFacts:
    """The open pass, earlier passes, scores, and the delay of the run."""

    open: PassStarted | None = None
    steps: int = 0
    """Number of steps in the open pass."""
    silences: int = 0
    """Number of answers without a tool call in a row, in the open pass."""
    rolling_back: PatchKept | None = None
    """The open pass is being rolled back: its patch is stored, and its changes are no longer looked at."""
    keeping: PassKept | None = None
    """The open pass is kept, and its changes are being applied."""
    kept_conflicts: list[str] | None = None
    """Paths that were not applied because somebody changed them meanwhile. None means that nothing is applied yet."""
    tries: dict[int, TryFinished | None] = field(default_factory=dict[int, TryFinished | None])
    """Tries of the open pass that started, by number. None means that the try has not ended."""
    measured: dict[int, TryMeasured] = field(default_factory=dict[int, TryMeasured])
    """Measurements of tries, by number."""
    chosen: TryChosen | None = None
    """The try whose changes are those of the pass: they wait for its verdict."""
    lost: list[TryStarted] = field(default_factory=list[TryStarted])
    """Tries whose runner died while they worked; their layers may still exist."""
    left_layers: list[str] = field(default_factory=list[str])
    """Folders of the layers of ended tries of an earlier runner; they may still exist."""
    last: PassStarted | None = None
    began: int = 0
    """Position in the journal at which it started."""
    done: list[PassFinished] = field(default_factory=list[PassFinished])
    concluded: PassFinished | None = None
    """The end of the newest pass. None means that the run was resumed after its end, and no pass has ended since."""
    changes: dict[str, int] = field(default_factory=dict[str, int])
    """Hash of a change to the first pass that made it."""
    said: list[str] = field(default_factory=list[str])
    """The person's messages since the last pass ended."""
    images: list[ImageRef] = field(default_factory=list[ImageRef])
    """Images in the person's messages."""
    scores: list[ScoreMeasured] = field(default_factory=list[ScoreMeasured])
    reference: float = 0.0
    """Best score when it last improved by more than `min_delta`: the next improvement is compared with it."""
    best_noise: float | None = None
    """Noise of the measurements of the best score."""
    stale: int = 0
    """Number of passes in a row that did not improve the best score by more than `min_delta`."""
    unmeasured: int = 0
    """Number of passes in a row whose score could not be measured; these do not count as stale."""
    skipped: int = 0
    """Number of passes in a row that could not start, since the last hand-off."""
    asked: RequestedDelay | None = None
    """The newest delay that the model requested, if it has not been slept yet."""
    asleep: Sleeping | None = None
    slept: Woken | None = None
    """How the last sleep ended; None once the model was informed."""
    prompt_tokens: int = 0
    """Tokens of the newest call's prompt."""
    _at_start: tuple[int, int, float, float | None, int] = (0, 0, 0.0, None, 0)
    """Number of scores, `stale`, `reference`, `best_noise` and `unmeasured` when the open pass started."""
    _has_ended: bool = False
    """The run ended and was not resumed yet."""
    _started: dict[int, TryStarted] = field(default_factory=dict[int, TryStarted])
    _calls: dict[str, RequestedDelay] = field(default_factory=dict[str, RequestedDelay])

    @property
    def unfinished(self) -> list[TryStarted]:
        """Tries that have started and not ended, also of an earlier runner."""
        return [*self.lost, *(one for number, one in self._started.items() if self.tries.get(number) is None)]

    @property
    def number(self) -> int:
        """The number of the newest pass."""
        return 0 if self.last is None else self.last.number

    @property
    def best(self) -> float | None:
        """The best score so far, or None if none was measured."""
        return self.scores[-1].best if self.scores else None

    def apply(self, stamped: Stamped) -> None:
        """Fold the next event into this state."""
        match stamped.event:
            case PassStarted() as started:
                self._start(started)
                self.began = stamped.seq
            case PatchKept() as kept:
                self.rolling_back = kept
            case PassKept() as kept:
                self.keeping = kept
            case EffectsApplied() as applied if self.keeping is not None and applied.order == self.keeping.order:
                self.kept_conflicts = applied.conflicts
                if applied.lost:
                    self.keeping = self.kept_conflicts = None
                    self._forget_measurement()
            case PassFinished() as finished:
                self._finish(finished)
            case StepFinished():
                self.steps += 1
            case StepStarted():
                self.slept = None
            case CallAdmitted(prompt_tokens=tokens):
                self.prompt_tokens = tokens
            case ReplyFinished(calls=calls) if stamped.step is not None:
                self.silences = 0 if calls else self.silences + 1
            case Said(text=text, kind=kind, images=images):
                self.silences = 0
                if kind != "task" and (self.open is None or self.open.tries > 1):  # a try has its own conversation
                    self.said.append(text)
                    self.images += images
            case ScoreMeasured() as score:
                self._measure(score)
            case ScoreNotMeasured(in_a_row=in_a_row):
                self.unmeasured = in_a_row
            case HandoffOpened():
                self.skipped = 0
            case HandoffClosed() | QuestionAnswered():
                self.silences = 0
                if self.concluded is not None and self.concluded.verdict == "undecided":
                    self.concluded = None  # the person decided about its changes
            case Unpaused() | RunEnded():
                self._apply_end(stamped.event)
            case TryStarted() | TryFinished() | TryMeasured() | TryChosen() | RunResumed():
                self._apply_try(stamped.event)
            case ToolCalled() | ToolFinished() | Sleeping() | Woken():
                self._apply_sleep(stamped.event)
            case _:
                pass

    def _apply_end(self, event: Unpaused | RunEnded) -> None:
        if isinstance(event, RunEnded):
            self._has_ended = True
            if event.reason is not Reason.ERROR:
                return
        self.unmeasured = 0  # after an error, or a pause because of one, work that failed is done again
        self.tries = {number: end for number, end in self.tries.items() if end is None or end.fault is None}

    def _apply_sleep(self, event: ToolCalled | ToolFinished | Sleeping | Woken) -> None:
        match event:
            case ToolCalled(call_id=call_id, tool=tool, arguments=arguments):
                if tool == WAKE:
                    self._calls[call_id] = _requested_delay(arguments)
            case ToolFinished(call_id=call_id, ok=ok):
                asked = self._calls.pop(call_id, None)
                self.asked = asked if ok and asked is not None else self.asked
            case Sleeping() as sleeping:
                self.asleep, self.slept = sleeping, None
            case Woken() as woken:
                self.asleep, self.asked, self.slept = None, None, woken

    def _apply_try(self, event: TryStarted | TryFinished | TryMeasured | TryChosen | RunResumed) -> None:
        match event:
            case TryStarted(candidate=candidate):
                self.tries[candidate], self._started[candidate] = None, event
                self.measured.pop(candidate, None)
            case TryFinished(lost=True):
                self.lost = [one for one in self.lost if one.candidate != event.candidate]
            case TryFinished(candidate=candidate):
                self.tries[candidate] = event
            case TryMeasured(candidate=candidate):
                self.measured[candidate] = event
            case TryChosen():
                self.chosen = event
            case RunResumed():  # their layers were used by the earlier runner
                self.lost += [one for number, one in self._started.items() if self.tries.get(number) is None]
                kept = "" if self.chosen is None else self.chosen.place
                layers = [one.place for one in self._started.values() if one.layer and one not in self.lost]
                self.left_layers += [place for place in layers if place != kept]
                self._forget_tries()
                self._forget_measurement()
                self.concluded = None if self._has_ended else self.concluded
                self._has_ended = False

    def _forget_tries(self) -> None:
        self.tries.clear()
        self.measured.clear()
        self._started.clear()

    def _forget_measurement(self) -> None:
        """Drop the measurement of the open pass: the new runner measures it again, against the score before it."""
        if self.open is not None and self.rolling_back is None and self.keeping is None:
            count, self.stale, self.reference, self.best_noise, self.unmeasured = self._at_start
            del self.scores[count:]

    def _start(self, started: PassStarted) -> None:
        self.open = self.last = started
        self.steps = self.silences = 0
        self._at_start = (len(self.scores), self.stale, self.reference, self.best_noise, self.unmeasured)
        self.slept = self.rolling_back = self.chosen = self.keeping = self.kept_conflicts = None
        self._forget_tries()
        self.said.clear()
        self.images.clear()

    def _finish(self, finished: PassFinished) -> None:
        self.open = self.rolling_back = self.chosen = self.keeping = self.kept_conflicts = None
        self._forget_tries()
        self.done.append(finished)
        self.concluded = finished
        if finished.change:
            self.changes.setdefault(finished.change, finished.number)
        self.skipped = self.skipped + 1 if finished.verdict == "skipped" else 0
        is_measured = bool(self.scores) and self.scores[-1].number == finished.number
        if finished.verdict in ("reverted", "unchanged") and not is_measured:
            self.stale += 1

    def _measure(self, score: ScoreMeasured) -> None:
        self.scores.append(score)
        self.stale, self.unmeasured = score.stale_passes, 0
        if score.number == 0 or score.stale_passes == 0:
            self.reference = score.best
        if score.kept:
            self.best_noise = score.noise


def passing_of(spec: RunSpec) -> PassFacts | None:
    """Return the state of passes, or None if the run's loop does not have such passes."""
    return PassFacts() if spec.loop.traits.has_passes or spec.tries is not None else None


def _requested_delay(arguments: Any) -> RequestedDelay:  # noqa: ANN401 - as the model gave them; the tool judged them before they count
    given = cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {}
    try:
        seconds = float(given.get("seconds", 0.0))
    except (TypeError, ValueError):
        seconds = 0.0
    return RequestedDelay(seconds, str(given.get("reason", "")))
