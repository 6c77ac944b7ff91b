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
from .finding import Finding, Flight, LensFacts, backoff
from .item_counts import FORBIDDEN_PAGE, ItemCounts


@dataclass(slots=True)
class FinderFacts(ItemCounts):
    """Counts, lenses, findings, streak. Its size does not grow with the keys that were seen."""

    lenses: dict[str, LensFacts] = field(default_factory=dict[str, LensFacts])
    findings: dict[str, Finding] = field(default_factory=dict[str, Finding])
    unjudged: dict[str, bool] = field(default_factory=dict[str, bool])
    """Keys of findings that nobody judged yet, oldest first: all others need not be looked at to go on."""
    confirmed: int = 0
    """Findings."""
    taken: int = 0
    """Of the confirmed ones: those that nobody was asked about."""
    refuted: int = 0
    """Findings."""
    flights: dict[str, Flight] = field(default_factory=dict[str, Flight])
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
            self.remember(event)
            return
        match event:
            case ItemQueued() | ItemFailed() | ItemSkipped():
                self._item(stamped, event)
            case WorkStarted() | WorkFinished():
                self._work(stamped, event)
            case FindingReported():
                self._reported(stamped, event)
            case VoteCast() | FindingJudged() | FindingReopened() | EvidenceAdded():
                self._fate(event)
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
                lens.hope_again()
        if is_over:
            self.critic_failures, self.critic_due = 0, 0.0
            for key in self.unjudged:
                self.findings[key].failures.clear()
                self.findings[key].due.clear()

    def _item(self, stamped: Stamped, event: ItemQueued | ItemFailed | ItemSkipped) -> None:
        match event:
            case ItemQueued(reason=reason):
                self.queued += 1
                self.left(event.was)
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
                    self.left("done")
                self.remember(event)
            case ItemSkipped(was=was):
                self.skipped += 1
                self.left(was or "waiting")

    def _surfaced(self, stamped: Stamped, *, counts: bool) -> None:
        self.seen += 1
        if counts:
            self.pass_new += 1
            self.discovery_seq = stamped.seq

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
            case WorkFinished(kind=kind, about=about, ok=ok, interrupted=interrupted):
                self.flights.pop(name, None)
                match kind:
                    case "item":
                        self.working = max(0, self.working - 1)
                        self.done += ok
                        self.forbidden += ok and event.reason == FORBIDDEN_PAGE
                        self.pass_done += not interrupted
                        self.queued += interrupted
                    case "lens" if about in self.lenses:
                        self.lenses[about].end_pass(event, self.pass_number, stamped.seq, stamped.at)
                    case "scan" if ok:
                        self.scanned, self.scan_pass = event.reason, self.pass_number
                    case "critic" if not (ok or interrupted):
                        self.critic_failures += 1
                        self.critic_due = stamped.at + backoff(self.critic_failures)
                    case "sceptic" | "evidence" if not (ok or interrupted) and about in self.findings:
                        self.findings[about].work_failed(name, stamped.at)
                    case _:
                        pass

    def _reported(self, stamped: Stamped, event: FindingReported) -> None:
        self.findings[event.key] = Finding(
            event.key, event.title, event.detail, event.evidence, event.source, stamped.seq, self.pass_number
        )
        self.unjudged[event.key] = True
        self._surfaced(stamped, counts=True)
        if event.source in self.lenses:
            self.lenses[event.source].new += 1

    def _fate(self, event: VoteCast | FindingJudged | FindingReopened | EvidenceAdded) -> None:
        finding = self.findings.get(event.key)
        if finding is None:
            return
        match event:
            case VoteCast():
                finding.votes.append(event)
            case FindingJudged():
                self._judged(finding, event)
            case FindingReopened():
                self._count_verdict(finding, -1)
                finding.reopen(event)
                self.unjudged[event.key] = True
            case EvidenceAdded():
                finding.add_evidence(event)

    def _judged(self, finding: Finding, event: FindingJudged) -> None:
        self._count_verdict(finding, -1)
        was_duplicate = finding.duplicate_of is not None
        finding.judge(event)
        self.unjudged.pop(event.key, None)
        self._count_verdict(finding, +1)
        if finding.duplicate_of is not None and not was_duplicate and finding.pass_number == self.pass_number:
            self.pass_new = max(0, self.pass_new - 1)

    def _count_verdict(self, finding: Finding, by: int) -> None:
        if finding.verdict == "confirmed" and finding.by == "none":
            self.taken += by
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
                self.plot(event.number, new)

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
