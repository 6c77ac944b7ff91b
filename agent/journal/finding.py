"""What a finder's journal says so far, without its keys: those stand in the frontier's table, millions of them.

The fold that the runner decides from and the board is drawn from is this one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..protocol import (
    CriticSpoke,
    Event,
    EvidenceAdded,
    FinderSpec,
    FindingJudged,
    FindingReopened,
    FindingReported,
    ItemDuplicate,
    ItemFailed,
    ItemQueued,
    ItemSkipped,
    LensAdded,
    PassFinished,
    PassStarted,
    RunEnded,
    RunResumed,
    Said,
    Stamped,
    Unpaused,
    VoteCast,
    WorkFinished,
    WorkStarted,
)

BACKOFF = 0.5
"""Seconds before the first retry; each further one waits twice as long."""
LONGEST_BACKOFF = 60.0
_MOST_POINTS = 400
"""Of the plot of discoveries: neighbours are added up where there would be more."""
_MOST_RECENT = 200
"""Duplicates and failures that are remembered for the board; all of them stand in the journal."""


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

    @property
    def stands(self) -> int:
        """Sceptics who failed to refute it."""
        return sum(vote.verdict == "stands" for vote in self.votes)


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


@dataclass(slots=True)
class FinderFacts:
    """Counts, lenses, findings, streak. Its size does not grow with the keys that were seen."""

    lenses: dict[str, LensFacts] = field(default_factory=dict[str, LensFacts])
    findings: dict[str, Finding] = field(default_factory=dict[str, Finding])
    unjudged: dict[str, bool] = field(default_factory=dict[str, bool])
    """Keys of findings that nobody judged yet, oldest first: all others need not be looked at to go on."""
    confirmed: int = 0
    """Findings."""
    refuted: int = 0
    """Findings."""
    flights: dict[str, Flight] = field(default_factory=dict[str, Flight])
    queued: int = 0
    working: int = 0
    done: int = 0
    seen: int = 0
    duplicates: int = 0
    retries: int = 0
    set_aside: int = 0
    skipped: int = 0
    recent: list[ItemDuplicate | ItemFailed] = field(default_factory=list[ItemDuplicate | ItemFailed])
    """The newest ones, oldest first."""
    points: list[int] = field(default_factory=list[int])
    """New keys, by stretches of `stretch` passes."""
    stretch: int = 1
    pass_number: int = 0
    pass_open: bool = False
    pass_lenses: list[str] = field(default_factory=list[str])
    """Who takes part in it."""
    pass_new: int = 0
    pass_done: int = 0
    """Items that were worked in it."""
    streak: int = 0
    discovery_seq: int = 0
    """Where the newest key that counts surfaced."""
    said_seq: int = 0
    """Where a person said something last: each lens has to hear it."""
    critic: CriticSpoke | None = None
    critic_seq: int = 0
    """When a model was asked last."""
    chance_seq: int = 0
    """When the plain half gave lenses that had failed another chance."""
    critic_failures: int = 0
    critic_due: float = 0.0
    scanned: str | None = None
    """migrate: what the newest full scan said; None: something was worked since, or the run was taken up."""
    scan_pass: int = 0
    """Number of the pass in which that was."""
    regressed: dict[str, int] = field(default_factory=dict[str, int])
    """Key to how often it failed again after it was done."""
    ended: bool = False
    """The run had an end, and was not taken up since."""
    broken_off: list[Flight] = field(default_factory=list[Flight])
    """Items that a runner left in the middle, until the next one begins on an item."""

    @staticmethod
    def of(spec: FinderSpec) -> FinderFacts:
        """Before anything happened."""
        return FinderFacts(
            lenses={lens.name: LensFacts(lens.name, lens.prompt, model=lens.model) for lens in spec.lenses}
        )

    @property
    def judging(self) -> int:
        """Findings that nobody judged yet."""
        return len(self.unjudged)

    @property
    def failed_lenses(self) -> dict[str, str]:
        """Lenses that never ran to their end, or are set aside, with why."""
        return {
            lens.name: lens.failed or "never ran"
            for lens in self.lenses.values()
            if lens.failed is not None or not lens.passes
        }

    def apply(self, stamped: Stamped) -> None:
        """Takes in the next event, in order."""
        event = stamped.event
        if isinstance(event, ItemDuplicate):  # most events of a crawl
            self.duplicates += 1
            self._remember(event)
            return
        match event:
            case ItemQueued() | ItemFailed() | ItemSkipped():
                self._item(stamped, event)
            case WorkStarted() | WorkFinished():
                self._work(stamped, event)
            case FindingReported() | VoteCast() | FindingJudged() | FindingReopened() | EvidenceAdded():
                self._finding(stamped, event)
            case PassStarted() | PassFinished():
                self._pass(event)
            case LensAdded() | CriticSpoke():
                self._critic(stamped, event)
            case RunResumed() | RunEnded():
                self._land()
                self._hope_again(is_over=isinstance(event, RunResumed) and self.ended)
                self.ended = isinstance(event, RunEnded)
            case Unpaused():
                self._hope_again(is_over=False)
            case Said(kind=kind) if kind != "task":
                self.said_seq = stamped.seq
            case _:
                pass

    def _hope_again(self, *, is_over: bool) -> None:
        """A person wants it to go on: where every lens failed for good each gets its tries again.

        `is_over`: the run had ended, and so do the sceptics and critics that never answered.
        """
        if self.lenses and all(lens.failed is not None for lens in self.lenses.values()):
            for lens in self.lenses.values():
                lens.failed, lens.failures, lens.due = None, 0, 0.0
        if is_over:
            self.critic_failures, self.critic_due = 0, 0.0
            for key in self.unjudged:
                self.findings[key].failures.clear()
                self.findings[key].due.clear()

    def _item(self, stamped: Stamped, event: ItemQueued | ItemFailed | ItemSkipped) -> None:
        match event:
            case ItemQueued(reason=reason):
                self.queued += 1
                self._left(event.was)
                match reason:
                    case "retry":
                        self.retries += 1
                    case "new" | "seed":
                        self._surfaced(stamped, counts=reason == "new")
                    case "regressed":
                        self.regressed[event.key] = self.regressed.get(event.key, 0) + 1
                    case _:
                        self.seen += event.was is None
                if event.source in self.lenses and reason == "new":
                    self.lenses[event.source].new += 1
            case ItemFailed(final=final):
                self.set_aside += final
                if final and not any(flight.about == event.key for flight in self.flights.values()):
                    self._left("done")
                self._remember(event)
            case ItemSkipped():
                self.skipped += 1
                self.queued = max(0, self.queued - 1)

    def _left(self, state: str | None) -> None:
        """An item that was at rest is not in that state any more."""
        match state:
            case "done":
                self.done = max(0, self.done - 1)
            case "set_aside":
                self.set_aside = max(0, self.set_aside - 1)
            case "skipped":
                self.skipped = max(0, self.skipped - 1)
            case _:
                pass

    def _surfaced(self, stamped: Stamped, *, counts: bool) -> None:
        self.seen += 1
        if counts:
            self.pass_new += 1
            self.discovery_seq = stamped.seq

    def _remember(self, event: ItemDuplicate | ItemFailed) -> None:
        self.recent.append(event)
        if len(self.recent) > 2 * _MOST_RECENT:
            del self.recent[:_MOST_RECENT]

    def _work(self, stamped: Stamped, event: WorkStarted | WorkFinished) -> None:
        name = stamped.work or event.about
        match event:
            case WorkStarted(kind=kind, about=about, attempt=attempt):
                self.flights[name] = Flight(name, kind, about, stamped.at, attempt, stamped.seq)
                if kind == "item":
                    self.queued = max(0, self.queued - 1)
                    self.working += 1
                    self.scanned = None
                    self.broken_off.clear()
                elif kind == "lens" and about in self.lenses:
                    self.lenses[about].since = stamped.at
            case WorkFinished(kind=kind, ok=ok, interrupted=interrupted):
                self.flights.pop(name, None)
                match kind:
                    case "item":
                        self.working = max(0, self.working - 1)
                        self.done += ok
                        self.pass_done += not interrupted
                        self.queued += interrupted
                    case "lens":
                        self._lens_ended(stamped, event)
                    case "scan" if ok:
                        self.scanned, self.scan_pass = event.reason, self.pass_number
                    case "critic" if not (ok or interrupted):
                        self.critic_failures += 1
                        self.critic_due = stamped.at + backoff(self.critic_failures)
                    case "sceptic" | "evidence" if not (ok or interrupted):
                        self._work_failed(stamped, name, event.about)
                    case _:
                        pass

    def _lens_ended(self, stamped: Stamped, event: WorkFinished) -> None:
        lens = self.lenses.get(event.about)
        if lens is None:
            return
        lens.since = None
        if event.ok:
            lens.passes += 1
            lens.ran_in, lens.ok_seq = self.pass_number, stamped.seq
            lens.failures, lens.due, lens.failed = 0, 0.0, None
            lens.found_new = event.found_new
            lens.last = f"{event.new} new" if event.new else "nothing new"
        elif not event.interrupted:
            lens.failures += 1
            lens.due = stamped.at + backoff(lens.failures)
            lens.last = event.error
            if event.set_aside:
                lens.failed = event.error

    def _work_failed(self, stamped: Stamped, name: str, key: str) -> None:
        finding = self.findings.get(key)
        if finding is not None:
            count = finding.failures[name] = finding.failures.get(name, 0) + 1
            finding.due[name] = stamped.at + backoff(count)

    def _finding(
        self, stamped: Stamped, event: FindingReported | VoteCast | FindingJudged | FindingReopened | EvidenceAdded
    ) -> None:
        if isinstance(event, FindingReported):
            self.findings[event.key] = Finding(
                event.key,
                event.title,
                event.detail,
                event.evidence,
                event.source,
                stamped.seq,
                self.pass_number,
            )
            self.unjudged[event.key] = True
            self._surfaced(stamped, counts=True)
            if event.source in self.lenses:
                self.lenses[event.source].new += 1
            return
        finding = self.findings.get(event.key)
        if finding is None:
            return
        match event:
            case VoteCast():
                finding.votes.append(event)
            case FindingJudged():
                self._judged(finding, event)
            case FindingReopened(reason=reason):
                self._count_verdict(finding, -1)
                finding.verdict, finding.wants_evidence = None, reason or "more evidence"
                finding.votes, finding.round = [], finding.round + 1
                finding.failures, finding.due = {}, {}
                self.unjudged[event.key] = True
            case EvidenceAdded(detail=detail, evidence=evidence):
                finding.wants_evidence = None
                finding.detail = "\n\n".join(part for part in (finding.detail, detail) if part)
                finding.evidence = evidence or finding.evidence

    def _judged(self, finding: Finding, event: FindingJudged) -> None:
        self._count_verdict(finding, -1)
        was_duplicate = finding.duplicate_of is not None
        finding.verdict, finding.by, finding.reasons = event.verdict, event.by, event.reasons
        finding.duplicate_of, finding.wants_evidence = event.duplicate_of, None
        self.unjudged.pop(event.key, None)
        self._count_verdict(finding, +1)
        if finding.duplicate_of is not None and not was_duplicate and finding.pass_number == self.pass_number:
            self.pass_new = max(0, self.pass_new - 1)

    def _count_verdict(self, finding: Finding, by: int) -> None:
        for counted in (self, self.lenses.get(finding.source)):
            if counted is not None and finding.verdict == "confirmed":
                counted.confirmed += by
            elif counted is not None and finding.verdict == "refuted":
                counted.refuted += by

    def _pass(self, event: PassStarted | PassFinished) -> None:
        match event:
            case PassStarted(number=number, lenses=lenses):
                self.pass_number, self.pass_open, self.pass_lenses = number, True, list(lenses)
                self.pass_new = self.pass_done = 0
            case PassFinished(new=new, dry_streak=streak):
                self.pass_open, self.streak = False, streak
                self._plot(event.number, new)

    def _plot(self, number: int, new: int) -> None:
        place = (number - 1) // self.stretch
        while len(self.points) <= place:
            self.points.append(0)
        self.points[place] += new
        if len(self.points) > _MOST_POINTS:
            self.points = [sum(self.points[i : i + 2]) for i in range(0, len(self.points), 2)]
            self.stretch *= 2

    def _critic(self, stamped: Stamped, event: LensAdded | CriticSpoke) -> None:
        match event:
            case LensAdded(name=name, prompt=prompt, by=by, model=model, once=once):
                self.lenses[name] = LensFacts(name, prompt, by, model, once)
            case CriticSpoke(half=half, lenses=names):
                self.critic = event
                if half == "model":
                    self.critic_seq, self.critic_failures, self.critic_due = stamped.seq, 0, 0.0
                    return
                self.chance_seq = stamped.seq
                for lens in self.lenses.values():
                    if lens.name in names:
                        lens.failed, lens.due = None, 0.0

    def _land(self) -> None:
        """A runner is gone: what it had in flight is in the queue again."""
        self.scanned = None
        for flight in self.flights.values():
            if flight.kind == "item":
                self.working = max(0, self.working - 1)
                self.queued += 1
                self.broken_off.append(flight)
            elif flight.about in self.lenses:
                self.lenses[flight.about].since = None
        self.flights.clear()


FINDER_ONLY = frozenset[type[Event]](
    (
        ItemQueued,
        ItemDuplicate,
        ItemFailed,
        ItemSkipped,
        WorkStarted,
        WorkFinished,
        FindingReported,
        VoteCast,
        FindingJudged,
        FindingReopened,
        EvidenceAdded,
        LensAdded,
        CriticSpoke,
    )
)
"""What nothing else of a run's facts takes in."""
FINDER_EVENTS = FINDER_ONLY | {PassStarted, PassFinished, RunResumed, RunEnded, Said, Unpaused}
"""What `FinderFacts` takes in; others change nothing."""
