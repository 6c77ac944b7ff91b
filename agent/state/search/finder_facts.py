"""State of a finder run without its keys, which a table stores. The runner decides from it; the board shows it."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...protocol import (
    CheckAccepted,
    CheckFinished,
    CriticSpoke,
    DiffCut,
    Event,
    EvidenceAdded,
    FinderSpec,
    FindingJudged,
    FindingReopened,
    FindingReported,
    HandoffClosed,
    ItemDuplicate,
    ItemFailed,
    ItemQueued,
    ItemSkipped,
    LensAdded,
    LensBriefed,
    PassFinished,
    PassStarted,
    ReadsPlaced,
    RunEnded,
    RunResumed,
    Said,
    ScopeCounted,
    Stamped,
    StepStarted,
    ToolCalled,
    ToolFinished,
    Unpaused,
    VoteCast,
    WorkFinished,
    WorkStarted,
)
from .finding_facts import Flight, LensFacts, ReadingFacts, backoff
from .item_places import WORKTREE_EVENTS, WorktreeEvent, WorktreeFacts
from .suspects import SuspectItems


@dataclass(slots=True)
class FinderFacts(ReadingFacts):
    """Counts, lenses, findings and streak. The size does not depend on the number of keys seen."""

    flights: dict[str, Flight] = field(default_factory=dict[str, Flight])
    pass_lenses: list[str] = field(default_factory=list[str])
    """The lenses of the pass."""
    pass_leads: set[str] = field(default_factory=set[str])
    """Keys of the leads in the prompts of its lenses."""
    pass_done: int = 0
    """Number of items that were worked in the pass."""
    said_seq: int = 0
    """Position of the person's newest message, which each lens must receive."""
    critic: CriticSpoke | None = None
    critic_seq: int = 0
    """Position at which a model critic was last asked."""
    retry_seq: int = 0
    """Position at which the program's critic last let failed lenses run again."""
    critic_failures: int = 0
    critic_due: float = 0.0
    scanned: str | None = None
    """migrate: result of the newest full scan. None means that an item was worked or the run was resumed since."""
    scan_pass: int = 0
    """Number of the pass in which that scan ran."""
    ended: bool = False
    """The run ended and was not resumed since."""
    dropped: int = 0
    """Number of reported findings that were dropped, because their place does not exist."""
    lead_steps: int = 0
    """Number of steps spent on leads, in a search by lenses that works them."""
    suspects: SuspectItems = field(default_factory=SuspectItems)
    interrupted_flights: list[Flight] = field(default_factory=list[Flight])
    """Items whose work a dead runner did not finish, until the next work on an item starts or a hand-off is closed."""
    worktrees: WorktreeFacts = field(default_factory=WorktreeFacts)
    cut: DiffCut | None = None
    """review: how the diff was cut into parts."""

    @staticmethod
    def of(spec: FinderSpec) -> FinderFacts:
        """Return the state before the first event."""
        return FinderFacts(
            lenses={lens.name: LensFacts(lens.name, lens.prompt, model=lens.model) for lens in spec.lenses}
        )

    @property
    def judging(self) -> int:
        """Number of findings that nobody has judged yet."""
        return len(self.unjudged)

    @property
    def parts(self) -> int:
        """Number of parts of a reviewed diff; 1 in other searches."""
        return self.cut.parts if self.cut is not None else 1

    @property
    def confirmed_of_review(self) -> int:
        """Number of confirmed findings about the reviewed diff."""
        return sum(finding.counts_in_review for finding in self.findings.values())

    @property
    def failed_lenses(self) -> dict[str, str]:
        """Lenses that never ran to their end or failed permanently, with the reason."""
        return {
            lens.name: lens.failed or "never ran"
            for lens in self.lenses.values()
            if lens.failed is not None or not lens.passes
        }

    def apply(self, stamped: Stamped) -> None:
        """Fold the next event into this state."""
        event = stamped.event
        match event:
            case ItemDuplicate():  # most events of a crawl
                self.repeated(event)
            case StepStarted():
                self.lead_steps += bool(self.lenses) and (stamped.work or "").startswith("item:")
                if (served := self.served.get(stamped.work or "")) is not None:
                    served.begin_answer()
            case ItemQueued() | ItemFailed() | ItemSkipped():
                self._item(stamped, event)
                self.suspects.apply(stamped)
            case CheckFinished() | CheckAccepted():
                self.suspects.apply(stamped)
            case WorkStarted() | WorkFinished():
                self._work(stamped, event)
            case _ if isinstance(event, WorktreeEvent):
                self.worktrees.apply(event)
            case FindingReported():
                self.reported(stamped, event)
            case VoteCast() | FindingJudged() | FindingReopened() | EvidenceAdded():
                self.apply_judgement(stamped, event)
            case PassStarted() | PassFinished():
                self._pass(event)
            case LensAdded() | CriticSpoke():
                self._critic(stamped, event)
            case RunResumed() | RunEnded():
                self._requeue_flights()
                self._reset_failures(is_over=isinstance(event, RunResumed) and self.ended)
                self.ended = isinstance(event, RunEnded)
            case LensBriefed(leads=leads):
                self.pass_leads.update(leads)
                self.briefed(event)
            case ToolCalled() | ToolFinished() | ScopeCounted() | ReadsPlaced():
                self.read(stamped, event)
            case DiffCut():
                self.cut = event
            case Unpaused():
                self._reset_failures(is_over=False)
            case HandoffClosed():
                self.interrupted_flights.clear()  # the person decided about what they left
            case Said(kind=kind) if kind != "task":
                self.said_seq = stamped.seq
            case _:
                pass

    def _reset_failures(self, *, is_over: bool) -> None:
        """Reset failures when a person continues: if all lenses failed permanently, each gets its attempts again.

        `is_over`: the run had ended, so that verifiers and critics that never answered are reset, too.
        """
        if self.lenses and all(lens.failed is not None for lens in self.lenses.values()):
            for lens in self.lenses.values():
                lens.reset_failures()
        if is_over:
            self.critic_failures, self.critic_due = 0, 0.0
            for key in self.unjudged:
                self.findings[key].failures.clear()
                self.findings[key].due.clear()

    def _item(self, stamped: Stamped, event: ItemQueued | ItemFailed | ItemSkipped) -> None:
        match event:
            case ItemQueued(reason=reason):
                self.queued += 1
                self.count_left(event.was)
                match reason:
                    case "retry":
                        self.retries += 1
                        if event.was == "done":  # leads are sent once more
                            for lens in self.lenses.values():
                                lens.missed = 0
                    case "new" | "seed":
                        self.item_seq = stamped.seq if reason == "new" else self.item_seq
                        self.surfaced(stamped, counts=reason == "new")
                    case "regressed":
                        self.regressed[event.key] = self.regressed.get(event.key, 0) + 1
                    case _:
                        self.seen += event.was is None
                if event.source in self.lenses and reason == "new":
                    self.lenses[event.source].new += 1
            case ItemFailed(final=final):
                self.set_aside += final
                if final and not any(flight.about == event.key for flight in self.flights.values()):
                    self.count_left("done")
                self.remember(event)
            case ItemSkipped(was=was):
                self.skipped += 1
                self.count_left(was or "waiting")

    def _work(self, stamped: Stamped, event: WorkStarted | WorkFinished) -> None:
        name = stamped.work or event.about
        self.served.pop(name, None)
        match event:
            case WorkStarted(kind=kind, about=about, attempt=attempt):
                self.flights[name] = Flight(name, kind, about, stamped.at, attempt, stamped.seq)
                if kind == "item":
                    self.queued = max(0, self.queued - 1)
                    self.working += 1
                    self.scanned = None
                    self.interrupted_flights.clear()
                elif kind == "lens" and about in self.lenses:
                    self.lenses[about].begin_pass(stamped.at)
            case WorkFinished(kind=kind, about=about, ok=ok, interrupted=interrupted):
                self.flights.pop(name, None)
                self.dropped += event.dropped
                match kind:
                    case "item":
                        self.working = max(0, self.working - 1)
                        self.done += ok
                        self.count_unread(event)
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
                        self.findings[about].work_failed(name, stamped.at, event.error)
                    case _:
                        pass

    def _pass(self, event: PassStarted | PassFinished) -> None:
        match event:
            case PassStarted(number=number, lenses=lenses):
                self.pass_number, self.pass_open, self.pass_lenses = number, True, list(lenses)
                self.pass_new = self.pass_done = 0
                self.pass_leads.clear()
            case PassFinished(new=new, dry_streak=streak):
                self.pass_open, self.streak = False, streak
                self._note_missed_leads()
                self.plot(event.number, new)

    def _note_missed_leads(self) -> None:
        """Count the leads that a failed lens did not receive, but other lenses of its pass did."""
        if not any(self.lenses[name].ran_in == self.pass_number for name in self.pass_lenses if name in self.lenses):
            return  # no lens received them: they wait in the queue
        for lens in self.lenses.values():
            if lens.failed is not None and lens.ran_in < self.pass_number:
                lens.missed += len(self.pass_leads)

    def _critic(self, stamped: Stamped, event: LensAdded | CriticSpoke) -> None:
        match event:
            case LensAdded(name=name, prompt=prompt, by=by, model=model, once=once, part=part):
                self.lenses[name] = LensFacts(name, prompt, by, model, once, part=part)
            case CriticSpoke(half=half, lenses=names):
                self.critic = event
                if half == "model":
                    self.critic_seq, self.critic_failures, self.critic_due = stamped.seq, 0, 0.0
                    return
                self.retry_seq = stamped.seq
                for lens in self.lenses.values():
                    if lens.name in names:
                        lens.failed, lens.due = None, 0.0

    def _requeue_flights(self) -> None:
        """Return the works of a dead runner to the queue."""
        self.scanned = None
        for flight in self.flights.values():
            if flight.kind == "item":
                self.working = max(0, self.working - 1)
                self.queued += 1
                self.interrupted_flights.append(flight)
            elif flight.about in self.lenses:
                self.lenses[flight.about].since = None
        self.flights.clear()
        self.served.clear()
        self.worktrees.end_work()


FINDER_ONLY = WORKTREE_EVENTS | frozenset[type[Event]](
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
        LensBriefed,
        CriticSpoke,
        ScopeCounted,
        ReadsPlaced,
        DiffCut,
    )
)
"""Events that no other part of a run's facts uses."""
FINDER_EVENTS = FINDER_ONLY | {
    CheckAccepted,
    CheckFinished,
    HandoffClosed,
    PassStarted,
    PassFinished,
    RunResumed,
    RunEnded,
    Said,
    StepStarted,
    ToolCalled,
    ToolFinished,
    Unpaused,
}
"""The events that change `FinderFacts`; all others are ignored."""


def pool_size(facts: FinderFacts, spec: FinderSpec) -> int | None:
    """Return the total number of items if no item brings new ones. Returns None if it is not known.

    A migration knows it after the first scan. A crawl never does, because each page can link to new ones.
    """
    if facts.lenses or spec.traits.fetches_pages:
        return None
    is_known = facts.scan_pass > 0 if spec.check is not None else facts.item_seq == 0 and facts.done > 0
    return facts.queued + facts.working + facts.done + facts.set_aside + facts.skipped if is_known else None
