"""Parts of a search's state: lenses, findings and running works, each folding its own events."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ...protocol import (
    EvidenceAdded,
    FindingJudged,
    FindingReopened,
    JudgedBy,
    Judgement,
    LensOrigin,
    VoteCast,
    WorkFinished,
    WorkKind,
)

BACKOFF = 0.5
"""Seconds before the first retry; the delay doubles for each further one."""
LONGEST_BACKOFF = 60.0
UNREAD_EVIDENCE = "it did not read the evidence"
"""Error of a verifier that judged without having been shown the cited file."""
DEAD_LINK = "dead-link:"
"""Start of the key of a finding that a crawl reports for a link whose page does not exist; the URL follows."""


def backoff(attempt: int) -> float:
    """Return the seconds to wait after the `attempt`-th failure."""
    return min(LONGEST_BACKOFF, BACKOFF * 2 ** (attempt - 1))


@dataclass(slots=True)
class LensFacts:
    """One lens and its results."""

    name: str
    prompt: str
    by: LensOrigin = "spec"
    model: str | None = None
    once: bool = False
    passes: int = 0
    """Number of passes in which the lens ran to its end."""
    new: int = 0
    """Number of keys that the lens reported first."""
    confirmed: int = 0
    refuted: int = 0
    last: str = ""
    """Result of the last pass: `nothing new`, `2 new`, or the error of its last failure."""
    found_new: bool | None = None
    """Whether the lens itself claimed to have found something new in the last pass."""
    ran_in: int = 0
    """Number of the last pass in which it ran to its end."""
    ok_seq: int = 0
    """Position of the end of that work in the journal."""
    failures: int = 0
    """Number of failures in a row."""
    due: float = 0.0
    """Unix time before which the lens is not tried again."""
    failed: str | None = None
    """Why the lens failed permanently."""
    since: float | None = None
    """Unix time at which its current work started."""
    possible: int = 0
    """Number of findings of its newest work at a known place under another title."""
    missed: int = 0
    """Number of leads of an unfinished pass that other lenses received."""
    reads: dict[str, list[tuple[int, int]]] = field(default_factory=dict[str, list[tuple[int, int]]])
    """Path of a file to the lines of it that the lens read."""
    is_independent: bool = True
    """The lens has not been shown a finding of another lens so far."""
    briefed: bool = False
    """The journal records what the lens was shown in its newest work."""
    sampled: bool = False
    """The lens ended a pass while it was independent."""

    def begin_pass(self, at: float) -> None:
        """Record the start of the lens's work."""
        self.since, self.possible, self.briefed = at, 0, False

    def end_pass(self, event: WorkFinished, number: int, seq: int, at: float) -> None:
        """Record the end of the lens's work in the pass with that number, successful or not."""
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
            if event.dropped:
                self.last = f"{self.last}, {event.dropped} dropped"
        elif not event.interrupted:
            self.failures += 1
            self.due = at + backoff(self.failures)
            self.last = event.error
            if event.set_aside:
                self.failed = event.error

    def reset_failures(self) -> None:
        """Reset the failures, so that the lens gets all of its attempts again."""
        self.failed, self.failures, self.due = None, 0, 0.0


@dataclass(slots=True)
class Finding:
    """One finding with its votes and its verdict."""

    key: str
    title: str
    detail: str = ""
    evidence: str = ""
    source: str = ""
    seq: int = 0
    pass_number: int = 0
    votes: list[VoteCast] = field(default_factory=list[VoteCast])
    round: int = 1
    """Number of the judging round: a finding that was sent back is judged again."""
    verdict: Judgement | None = None
    """None: nobody judged it."""
    by: JudgedBy | Literal[""] = ""
    reasons: list[str] = field(default_factory=list[str])
    duplicate_of: str | None = None
    wants_evidence: str | None = None
    """Why a person asked for more evidence; None: nobody did."""
    failures: dict[str, int] = field(default_factory=dict[str, int])
    """Name of a work about the finding to its number of failures."""
    due: dict[str, float] = field(default_factory=dict[str, float])
    was_unread: bool = False
    """The newest verifier that failed did not read the evidence."""
    place: str = ""
    """The cited line; empty: no line is cited."""
    may_repeat: str | None = None
    """Key of a finding with another title at the same place."""
    counted_seq: int = 0
    """Position at which the finding counted as new; 0: it did not count."""
    counted_in: int = 0
    """Number of the pass in which it counted."""
    caught_by: list[str] = field(default_factory=list[str])
    """Lenses that reported it before they were shown a finding of another lens."""

    @property
    def is_distinct(self) -> bool:
        """Whether the finding was judged and does not repeat another one."""
        return self.verdict == "confirmed" and self.by != "none" and self.duplicate_of is None

    @property
    def is_dead_link(self) -> bool:
        """Whether a crawl reported it for a link whose page does not exist. Its source is the URL."""
        return self.key.startswith(DEAD_LINK)

    @property
    def stands_alone(self) -> bool:
        """Whether the finding is not refuted and, as far as known, does not repeat another one."""
        may_repeat = self.may_repeat is not None and not self.is_distinct
        return self.verdict != "refuted" and self.duplicate_of is None and not may_repeat

    @property
    def stands(self) -> int:
        """Number of verifiers that could not refute the finding."""
        return sum(vote.verdict == "stands" for vote in self.votes)

    def judge(self, event: FindingJudged) -> None:
        """Record a verdict, which holds until the next one."""
        self.verdict, self.by, self.reasons = event.verdict, event.by, event.reasons
        self.duplicate_of, self.wants_evidence = event.duplicate_of, None

    def reopen(self, event: FindingReopened) -> None:
        """Record that the finding was sent back and must be judged again."""
        self.verdict, self.wants_evidence = None, event.reason or "more evidence"
        self.votes, self.round = [], self.round + 1
        self.failures, self.due = {}, {}

    def add_evidence(self, event: EvidenceAdded) -> None:
        """Record that the missing evidence was added."""
        self.wants_evidence = None
        self.detail = "\n\n".join(part for part in (self.detail, event.detail) if part)
        self.evidence = event.evidence or self.evidence

    def work_failed(self, work: str, at: float, error: str) -> None:
        """Record that a verifier, or a search for evidence, failed."""
        self.was_unread = error == UNREAD_EVIDENCE
        count = self.failures[work] = self.failures.get(work, 0) + 1
        self.due[work] = at + backoff(count)


@dataclass(slots=True)
class Flight:
    """A work order that a worker is carrying out."""

    work: str
    kind: WorkKind
    about: str
    since: float
    attempt: int
    seq: int = 0
    """Position of its start in the journal."""
