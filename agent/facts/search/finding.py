"""What a finder's facts are made of: lenses, findings, works in flight, and what each makes of its own events."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...protocol import EvidenceAdded, FindingJudged, FindingReopened, VoteCast, WorkFinished

BACKOFF = 0.5
"""Seconds before the first retry; each further one waits twice as long."""
LONGEST_BACKOFF = 60.0


def backoff(attempt: int) -> float:
    """Seconds to wait after the `attempt`-th failure."""
    return min(LONGEST_BACKOFF, BACKOFF * 2 ** (attempt - 1))


@dataclass(slots=True)
class LensFacts:
    """One lens and what came of it."""

    name: str
    prompt: str
    by: str = "spec"
    model: str | None = None
    once: bool = False
    passes: int = 0
    """In which it ran to its end."""
    new: int = 0
    """Keys that it was the first to surface."""
    confirmed: int = 0
    refuted: int = 0
    last: str = ""
    """`nothing new`, `2 new`, or the error of its last failure."""
    found_new: bool | None = None
    """Its own word in the last pass."""
    ran_in: int = 0
    """Number of the last pass in which it ran to its end."""
    ok_seq: int = 0
    """Where that ended in the journal."""
    failures: int = 0
    """In a row."""
    due: float = 0.0
    """Unix time before which it is not tried again."""
    failed: str | None = None
    """Why it is set aside."""
    since: float | None = None
    """Unix time since when it runs now."""
    possible: int = 0
    """Findings of its newest work that stand at a known place under another title."""
    missed: int = 0
    """Leads of a pass that it did not end, and that were sent to others."""
    reads: dict[str, list[tuple[int, int]]] = field(default_factory=dict[str, list[tuple[int, int]]])
    """Path of a file to the lines of it that it read."""
    is_independent: bool = True
    """It was not shown a finding of another lens so far."""
    briefed: bool = False
    """The journal says what it was shown in its newest work."""
    sampled: bool = False
    """It ended a pass while it was independent."""

    def begin_pass(self, at: float) -> None:
        """Its work begins."""
        self.since, self.possible, self.briefed = at, 0, False

    def end_pass(self, event: WorkFinished, number: int, seq: int, at: float) -> None:
        """It ran to its end in the pass of that number, or did not."""
        self.since = None
        if event.ok:
            self.passes += 1
            self.ran_in, self.ok_seq = number, seq
            self.is_independent = self.is_independent and self.briefed
            self.sampled = self.sampled or self.is_independent
            self.failures, self.due, self.failed = 0, 0.0, None
            self.found_new = event.found_new
            self.last = f"{event.new} new" if event.new else "nothing new"
            if self.possible:
                self.last = f"{self.last}, {self.possible} possible" if event.new else f"{self.possible} possible"
        elif not event.interrupted:
            self.failures += 1
            self.due = at + backoff(self.failures)
            self.last = event.error
            if event.set_aside:
                self.failed = event.error

    def hope_again(self) -> None:
        """It gets all of its tries once more."""
        self.failed, self.failures, self.due = None, 0, 0.0


@dataclass(slots=True)
class Finding:
    """One finding and its fate."""

    key: str
    title: str
    detail: str = ""
    evidence: str = ""
    source: str = ""
    seq: int = 0
    pass_number: int = 0
    votes: list[VoteCast] = field(default_factory=list[VoteCast])
    round: int = 1
    """Of judging: a finding that was sent back is judged anew."""
    verdict: str | None = None
    """`confirmed`, `refuted`, or None while nobody judged it."""
    by: str = ""
    reasons: list[str] = field(default_factory=list[str])
    duplicate_of: str | None = None
    wants_evidence: str | None = None
    """Why a person sent it back; None: they did not."""
    failures: dict[str, int] = field(default_factory=dict[str, int])
    """Name of a work on it to its failures."""
    due: dict[str, float] = field(default_factory=dict[str, float])
    place: str = ""
    """The cited line; empty: none is cited."""
    may_repeat: str | None = None
    """Key of a finding under another title where this one stands."""
    counted_seq: int = 0
    """Where it counted as new; 0: it did not."""
    counted_in: int = 0
    """Number of the pass in which it counted."""
    caught_by: list[str] = field(default_factory=list[str])
    """Lenses that reported it before they were shown a finding of another lens."""

    @property
    def is_distinct(self) -> bool:
        """Someone looked at it, and it repeats no other finding."""
        return self.verdict == "confirmed" and self.by != "none" and self.duplicate_of is None

    @property
    def stands_alone(self) -> bool:
        """It is not refuted, and repeats no other finding as far as is known."""
        may_repeat = self.may_repeat is not None and not self.is_distinct
        return self.verdict != "refuted" and self.duplicate_of is None and not may_repeat

    @property
    def stands(self) -> int:
        """Sceptics who failed to refute it."""
        return sum(vote.verdict == "stands" for vote in self.votes)

    def judge(self, event: FindingJudged) -> None:
        """That is its fate, until another word on it."""
        self.verdict, self.by, self.reasons = event.verdict, event.by, event.reasons
        self.duplicate_of, self.wants_evidence = event.duplicate_of, None

    def reopen(self, event: FindingReopened) -> None:
        """It was sent back, to be judged anew."""
        self.verdict, self.wants_evidence = None, event.reason or "more evidence"
        self.votes, self.round = [], self.round + 1
        self.failures, self.due = {}, {}

    def add_evidence(self, event: EvidenceAdded) -> None:
        """What was missing stands in it now."""
        self.wants_evidence = None
        self.detail = "\n\n".join(part for part in (self.detail, event.detail) if part)
        self.evidence = event.evidence or self.evidence

    def work_failed(self, work: str, at: float) -> None:
        """A sceptic, or who looks for evidence, did not come to an end."""
        count = self.failures[work] = self.failures.get(work, 0) + 1
        self.due[work] = at + backoff(count)


@dataclass(slots=True)
class Flight:
    """A worker that works now."""

    work: str
    kind: str
    about: str
    since: float
    attempt: int
    seq: int = 0
    """Where it began in the journal."""
