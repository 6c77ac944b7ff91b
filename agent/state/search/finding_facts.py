"""What the lenses of a search found, with verdicts and which of it counts as new, and what they read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ...protocol import (
    Coverage,
    Estimate,
    EvidenceAdded,
    FindingJudged,
    FindingReopened,
    FindingReported,
    ItemDuplicate,
    JudgedBy,
    Judgement,
    LensBriefed,
    LensCoverage,
    LensOrigin,
    ReadsPlaced,
    Relation,
    ScopeCounted,
    Stamped,
    ToolCalled,
    ToolFinished,
    VoteCast,
    WorkFinished,
    WorkKind,
)
from .estimate import richness
from .item_counts import ItemCounts
from .reads import Served, add_range, count_lines, coverage, in_scope, lens_of, lines_shown, path_called

BACKOFF = 0.5
"""Seconds before the first retry; the delay doubles for each further one."""
LONGEST_BACKOFF = 60.0
UNREAD_EVIDENCE = "it did not read the evidence"
"""Error of a verifier that judged without having been shown the cited file."""
DEAD_LINK = "dead-link:"
"""Start of the key of a finding that a crawl reports for a link whose page does not exist; the URL follows."""

_OF_MODELS = ("lens:", "sceptic:", "evidence:", "item:")
"""Beginnings of the names of works that models do with tools."""


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
    part: int = 1
    """In a review: the part of the diff that it gets."""

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
    """None means that nobody judged it."""
    by: JudgedBy | Literal[""] = ""
    reasons: list[str] = field(default_factory=list[str])
    duplicate_of: str | None = None
    wants_evidence: str | None = None
    """Why a person asked for more evidence, or None if nobody did."""
    failures: dict[str, int] = field(default_factory=dict[str, int])
    """Name of a work about the finding to its number of failures."""
    due: dict[str, float] = field(default_factory=dict[str, float])
    was_unread: bool = False
    """The newest verifier that failed did not read the evidence."""
    place: str = ""
    """The cited line, or empty if no line is cited."""
    may_repeat: str | None = None
    """Key of a finding with another title at the same place."""
    counted_seq: int = 0
    """Position at which the finding counted as new, or 0 if it did not count."""
    counted_in: int = 0
    """Number of the pass in which it counted."""
    caught_by: list[str] = field(default_factory=list[str])
    """Lenses that reported it before they were shown a finding of another lens."""
    relation: Relation = ""
    """In a review: whether the diff changed its place, affects it, or neither."""

    @property
    def is_distinct(self) -> bool:
        """Whether the finding was judged and does not repeat another one."""
        return self.verdict == "confirmed" and self.by != "none" and self.duplicate_of is None

    @property
    def is_dead_link(self) -> bool:
        """Whether a crawl reported it for a link whose page does not exist. Its source is the URL."""
        return self.key.startswith(DEAD_LINK)

    @property
    def counts_in_review(self) -> bool:
        """Whether it is confirmed, no duplicate, and about the reviewed diff."""
        return self.verdict == "confirmed" and self.duplicate_of is None and self.relation in ("changed", "affected")

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


@dataclass(slots=True)
class FindingFacts(ItemCounts):
    """Lenses, findings, and the open pass."""

    lenses: dict[str, LensFacts] = field(default_factory=dict[str, LensFacts])
    findings: dict[str, Finding] = field(default_factory=dict[str, Finding])
    places: dict[str, str] = field(default_factory=dict[str, str])
    """CitedLine place to the key of the first finding there."""
    unjudged: dict[str, bool] = field(default_factory=dict[str, bool])
    """Keys of findings without a verdict, oldest first. The search needs no others to continue."""
    confirmed: int = 0
    """Number of confirmed findings."""
    unverified: int = 0
    """Number of confirmed findings that no verifier judged."""
    refuted: int = 0
    """Number of refuted findings."""
    pass_number: int = 0
    pass_open: bool = False
    pass_new: int = 0
    streak: int = 0
    discovery_seq: int = 0
    """Position of the newest counted key in the journal."""
    item_seq: int = 0
    """Position of the newest counted item in the journal."""

    @property
    def found(self) -> list[Finding]:
        """The distinct findings that nobody refuted."""
        return [finding for finding in self.findings.values() if finding.stands_alone]

    def estimate(self) -> Estimate | None:
        """Estimate the findings that no lens found.

        Returns None if the assumption of the estimate does not hold, or no finding. The sample consists of the lenses
        that ended a pass before they were shown a finding of another lens. They must be repeated looks of one kind:
        lenses that look for different things find different things, however few there are, which the estimate takes for
        many that nobody found.
        """
        if len({(_kind(lens.prompt), lens.part) for lens in self.lenses.values() if lens.by != "critic"}) != 1:
            return None
        lenses = sum(lens.sampled for lens in self.lenses.values())
        caught: dict[str, set[str]] = {}
        for finding in self.findings.values():
            if finding.caught_by and (root := self._root(finding)) is not None:
                caught.setdefault(root.key, set()).update(finding.caught_by)
        whole = richness([len(names) for names in caught.values()], lenses)
        if whole is None:
            return None
        found = len(self.found)
        unseen, low, high = (max(0.0, number - found) for number in (whole.total, whole.low, whole.high))
        return Estimate(unseen=unseen, low=low, high=high, sample=len(caught), lenses=lenses)

    def _root(self, finding: Finding) -> Finding | None:
        """Return the finding that this one repeats, or itself, or None if it was refuted."""
        seen = {finding.key}
        while finding.duplicate_of is not None:
            other = self.findings.get(finding.duplicate_of)
            if other is None or other.key in seen:
                return None
            seen.add(other.key)
            finding = other
        return finding if finding.stands_alone else None

    def surfaced(self, stamped: Stamped, *, counts: bool) -> None:
        """Record a new key of an item or a finding. Seeds do not count as found."""
        self.seen += 1
        if counts:
            self.pass_new += 1
            self.discovery_seq = stamped.seq

    def reported(self, stamped: Stamped, event: FindingReported) -> None:
        """Record a reported finding. It is only possibly new if its place has one with another title."""
        finding = self.findings[event.key] = Finding(
            event.key, event.title, event.detail, event.evidence, event.source, stamped.seq, self.pass_number
        )
        finding.place, finding.may_repeat, finding.relation = event.place, event.may_repeat, event.relation
        self.unjudged[event.key] = True
        if event.place:
            self.places.setdefault(event.place, event.key)
        lens = self.lenses.get(event.source)
        if event.may_repeat is None and not finding.is_dead_link:
            self._count(finding, stamped)
        elif lens is not None:
            lens.possible += 1
        self.reported_by_lens(event.source, finding)

    def reported_by_lens(self, source: str, finding: Finding | None) -> None:
        """Record that a lens reported a finding. It joins the sample if the lens searched independently."""
        lens = self.lenses.get(source)
        if lens is None or finding is None:
            return
        lens.is_independent = lens.is_independent and lens.briefed
        if lens.is_independent and source not in finding.caught_by:
            finding.caught_by.append(source)

    def repeated(self, event: ItemDuplicate) -> None:
        """Record that a known item surfaced, or that a lens reported a known finding."""
        self.duplicates += 1
        self.remember(event)
        if event.key in self.findings:
            self.reported_by_lens(event.source, self.findings[event.key])

    def briefed(self, event: LensBriefed) -> None:
        """Record the prompt of a lens. A lens that is shown another lens's finding no longer searches independently."""
        lens = self.lenses.get(event.name)
        if lens is not None:
            shown = (self.findings[key].source for key in event.shown if key in self.findings)
            lens.is_independent = lens.is_independent and all(source == event.name for source in shown)
            lens.briefed = True

    def apply_judgement(
        self, stamped: Stamped, event: VoteCast | FindingJudged | FindingReopened | EvidenceAdded
    ) -> None:
        """Record a vote, a verdict or other news about a finding."""
        finding = self.findings.get(event.key)
        if finding is None:
            return
        match event:
            case VoteCast():
                finding.votes.append(event)
            case FindingJudged():
                self._judged(stamped, finding, event)
            case FindingReopened():
                self._count_verdict(finding, -1)
                finding.reopen(event)
                self.unjudged[event.key] = True
            case EvidenceAdded():
                finding.add_evidence(event)

    def _judged(self, stamped: Stamped, finding: Finding, event: FindingJudged) -> None:
        self._count_verdict(finding, -1)
        was_duplicate = finding.duplicate_of is not None
        finding.judge(event)
        self.unjudged.pop(event.key, None)
        self._count_verdict(finding, +1)
        if finding.duplicate_of is not None and not was_duplicate:
            self._uncount(finding)
        elif finding.is_distinct and not finding.counted_seq and not finding.is_dead_link:
            self._count(finding, stamped)
            if not self.pass_open:  # a person judged the finding after the pass
                self.streak = 0

    def _count(self, finding: Finding, stamped: Stamped) -> None:
        finding.counted_seq, finding.counted_in = stamped.seq, self.pass_number
        self.surfaced(stamped, counts=True)
        if finding.source in self.lenses:
            self.lenses[finding.source].new += 1

    def _uncount(self, finding: Finding) -> None:
        """Stop counting a finding that repeats another one: it is not a discovery and not new in its pass."""
        if finding.counted_seq and finding.counted_in == self.pass_number:
            self.pass_new = max(0, self.pass_new - 1)
        if finding.counted_seq and finding.counted_seq == self.discovery_seq:
            others = (f.counted_seq for f in self.findings.values() if f.duplicate_of is None)
            self.discovery_seq = max(self.item_seq, max(others, default=0))

    def _count_verdict(self, finding: Finding, by: int) -> None:
        if finding.verdict == "confirmed" and finding.by == "none":
            self.unverified += by
        for counted in (self, self.lenses.get(finding.source)):
            if counted is not None and finding.verdict == "confirmed":
                counted.confirmed += by
            elif counted is not None and finding.verdict == "refuted":
                counted.refuted += by


@dataclass(slots=True)
class ReadingFacts(FindingFacts):
    """Files that lenses read. The size depends on the number of files, not on the number of reads."""

    scope: ScopeCounted | None = None
    """The files that lenses may read, or None if they were not counted."""
    placed: dict[str, str] = field(default_factory=dict[str, str])
    """Path as a lens named it to the file in scope, or empty if not in scope."""
    open_reads: dict[str, ToolCalled] = field(default_factory=dict[str, ToolCalled])
    """Calls of `read_file` that have no result so far."""
    served: dict[str, Served] = field(default_factory=dict[str, Served])
    """What the works that run were shown, by their names."""

    def coverage(self) -> Coverage:
        """How much of the files in scope the lenses read."""
        return coverage({lens.name: lens.reads for lens in self.lenses.values()}, self.placed, self.scope)

    def read_by(self, lens: str) -> LensCoverage:
        """Return how much of the files in scope one lens read."""
        found = in_scope(self.lenses[lens].reads, self.placed)
        return LensCoverage(lens, len(found), sum(map(count_lines, found.values())))

    def read(self, stamped: Stamped, event: ToolCalled | ToolFinished | ScopeCounted | ReadsPlaced) -> None:
        """Record a read of a lens, or the count of the files in scope."""
        self._serve(stamped.work or "", event)
        match event:
            case ToolCalled(call_id=call_id):
                if lens_of(stamped.work) in self.lenses and path_called(event) is not None:
                    self.open_reads[call_id] = event
            case ToolFinished(call_id=call_id, ok=ok):
                called, lens = self.open_reads.pop(call_id, None), self.lenses.get(lens_of(stamped.work) or "")
                if called is not None and lens is not None and ok:
                    ranges = lens.reads.setdefault(path_called(called) or "", [])
                    if (lines := lines_shown(called, event)) is not None:
                        add_range(ranges, *lines)
            case ScopeCounted():
                self.scope = event
            case ReadsPlaced(paths=paths):
                self.placed |= paths

    def was_served(self, work: str) -> set[str]:
        """Return the files and pages whose content this work was shown before its newest answer."""
        served = self.served.get(work)
        return set(served.earlier) if served is not None else set()

    def _serve(self, work: str, event: ToolCalled | ToolFinished | ScopeCounted | ReadsPlaced) -> None:
        match event:
            case ToolCalled(call_id=call_id) if work.startswith(_OF_MODELS):
                self.served.setdefault(work, Served()).calls[call_id] = event
            case ToolFinished() if (served := self.served.get(work)) is not None:
                served.finished(event)
            case _:
                pass


def _kind(prompt: str) -> str:
    return " ".join(prompt.casefold().split())
