"""The state that an until-dry loop decides from, and the next work. Pure: no clock, no I/O."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING

from ..protocol import Exhausted, FinderSpec, Work, WorkKind
from ..protocol.text.counts import plural

if TYPE_CHECKING:
    from ..state.search.finder_facts import FinderFacts
    from ..state.search.finding_facts import Finding, LensFacts
    from .items.item_state import Item


@dataclass(frozen=True, slots=True)
class FinderState:
    """The state of the search."""

    spec: FinderSpec
    facts: FinderFacts
    ready: Sequence[Item]
    """Queued items that may be worked now, oldest first, at most one per worker."""
    item_in: float | None
    """Seconds until the next item is due, or None if none waits."""
    now: float
    """Unix time."""
    busy: frozenset[str] = frozenset()
    """Names of the work orders that run."""
    has_model: bool = True
    exhausted: Exhausted | None = None
    """The limit that had no room for the next call or item."""
    broken: str | None = None
    """Why the search cannot continue."""
    retryable: bool = False
    given_up: Sequence[str] = ()
    """Keys of some items that failed permanently, once no work is left."""

    @property
    def in_flight(self) -> int:
        """Number of running work orders."""
        return len(self.busy)

    @property
    def by_lenses(self) -> bool:
        """Whether lenses search; else each item is worked."""
        return bool(self.facts.lenses)

    @property
    def works_leads(self) -> bool:
        """Whether lenses search and the leads that they report are worked."""
        return self.by_lenses and self.spec.leads.work

    @property
    def has_open_leads(self) -> bool:
        """Whether leads are worked now or later in this pass."""
        return self.works_leads and (
            bool(self.ready) or self.item_in is not None or any(name.startswith("item:") for name in self.busy)
        )

    @property
    def is_drained(self) -> bool:
        """Whether no item is worked, queued or still to come."""
        return not self.busy and not self.ready and self.item_in is None

    @property
    def is_scan_due(self) -> bool:
        """migrate: whether a scan of all files is due, the first one or one after work was done."""
        facts = self.facts
        return self.is_drained and facts.pass_open and facts.scan_pass < facts.pass_number

    @property
    def is_judging(self) -> bool:
        """Whether a finding still waits for a verifier or for evidence."""
        return any(True for _ in _pending_on_findings(self))

    @property
    def due_in(self) -> float | None:
        """Seconds until a failed lens, judgement or item is due, or None if nothing waits."""
        facts = self.facts
        late = (facts.findings[key] for key in facts.unjudged if facts.findings[key].due) if self.has_model else ()
        times = [finding.due.get(name, 0.0) for finding in late for name, _ in _pending(finding, self.spec)]
        times += [lens.due for lens in _missing_in_pass(facts)]
        if is_critic_due(self):
            times.append(facts.critic_due)
        waits = [time - self.now for time in times if time > self.now]
        if self.item_in is not None and (self.works_leads or not self.by_lenses):
            waits.append(self.item_in)
        return min(waits, default=None)

    def gaps(self) -> list[str]:
        """Return why a dry run is not complete, one phrase each; empty if it is complete."""
        facts = self.facts
        found: list[str] = []
        if facts.set_aside:
            found.append(f"{plural(facts.set_aside, 'item')} failed permanently{self._named()}")
        found += [f"lens {name}: {why}" for name, why in facts.failed_lenses.items()]
        for lens in facts.lenses.values():
            if lens.missed and lens.name not in facts.failed_lenses:
                found.append(f"lens {lens.name}: {_leads(lens.missed)} not sent to it")
        if self.works_leads and facts.queued:
            steps = f"the {self.spec.leads.steps:,} steps for leads are used up"
            found.append(f"{_leads(facts.queued)} not worked: {steps}")
        if facts.dropped:
            found.append(f"{plural(facts.dropped, 'finding')} dropped: the cited place does not exist")
        unjudged = facts.judging
        if unjudged:
            blind = sum(one.was_unread for one in map(facts.findings.__getitem__, facts.unjudged))
            why = f" ({blind:,} because verifiers did not read the evidence)" if blind else ""
            found.append(f"{plural(unjudged, 'finding')} could not be judged{why}")
        if facts.critic_failures > self.spec.retries:
            found.append("the critic could not be asked")
        return found

    def _named(self) -> str:
        more = self.facts.set_aside - len(self.given_up)
        return f" ({', '.join(self.given_up)}{f' and {more:,} more' if more > 0 else ''})" if self.given_up else ""


def _leads(count: int) -> str:
    return f"{plural(count, 'lead')} {'was' if count == 1 else 'were'}"


def works(state: FinderState) -> list[Work]:
    """Return what can begin now, most urgent first: judge findings, then search, then ask the critic.

    At most as many as there are workers, because thousands of findings may wait for judgement.
    """
    urgent = chain(_on_findings(state), _lens_works(state), _item_works(state))
    found = list(islice(urgent, max(1, state.spec.concurrency)))
    if state.spec.check is not None and state.is_scan_due:
        found.append(Work(work=f"scan#{state.facts.pass_number}", kind="scan", about="scan"))
    if not found and not state.busy and is_critic_due(state) and state.facts.critic_due <= state.now:
        found.append(Work(work=f"critic#{state.facts.pass_number}", kind="critic", about="critic", ends_with="propose"))
    return found


def lenses_of_next_pass(state: FinderState) -> list[str]:
    """Return the lenses that search in the next pass; empty if no pass follows."""
    alive = [lens for lens in state.facts.lenses.values() if lens.failed is None]
    fresh = [lens for lens in alive if not lens.once or not lens.passes]
    if state.facts.streak < state.spec.dry_passes or state.ready:
        return [lens.name for lens in fresh]
    since = max(state.facts.discovery_seq, state.facts.said_seq)
    return [lens.name for lens in fresh if not lens.passes or lens.ok_seq < since]


def is_pass_over(state: FinderState) -> bool:
    """Return whether all lenses of the open pass ran or failed permanently, and their findings are judged or worked."""
    is_searched = state.facts.pass_open and not _missing_in_pass(state.facts)
    return is_searched and not state.is_judging and not state.has_open_leads


def streak_after(facts: FinderFacts) -> int:
    """Return the number of dry passes in a row once the open pass ends. A pass in which a lens failed is not dry."""
    if facts.pass_new:
        return 0
    ran = [name for name in facts.pass_lenses if facts.lenses[name].ran_in == facts.pass_number]
    return facts.streak + (len(ran) == len(facts.pass_lenses))


def lenses_to_retry(facts: FinderFacts) -> list[str]:
    """Return the lenses that failed permanently and were not tried again since the last discovery."""
    if facts.retry_seq > facts.discovery_seq:
        return []
    return [lens.name for lens in facts.lenses.values() if lens.failed is not None]


def is_critic_due(state: FinderState) -> bool:
    """Return whether to ask a model what was not looked at, once after each discovery (docs/requirements.md 2.4.7)."""
    facts = state.facts
    return (
        state.by_lenses
        and state.spec.critic
        and state.has_model
        and facts.streak >= state.spec.dry_passes
        and not facts.pass_open
        and (not facts.critic_seq or facts.critic_seq < facts.discovery_seq)
        and facts.critic_failures <= state.spec.retries
        and not lenses_of_next_pass(state)
    )


def _on_findings(state: FinderState) -> Iterator[Work]:
    for finding, name, kind in _pending_on_findings(state):
        if name not in state.busy and finding.due.get(name, 0.0) <= state.now:
            yield Work(work=name, kind=kind, about=finding.key, ends_with="judge" if kind == "sceptic" else "report")


def _pending_on_findings(state: FinderState) -> Iterator[tuple[Finding, str, WorkKind]]:
    """Yield (finding, name of the work, its kind) for work that is neither done nor failed permanently."""
    if not state.has_model:
        return
    for finding in map(state.facts.findings.__getitem__, state.facts.unjudged):
        for name, kind in _pending(finding, state.spec):
            yield finding, name, kind


def _pending(finding: Finding, spec: FinderSpec) -> Iterator[tuple[str, WorkKind]]:
    """Yield (name of the work, its kind) for one finding."""
    if finding.wants_evidence is not None:
        named: list[tuple[str, WorkKind]] = [(f"evidence:{finding.key}#{finding.round}", "evidence")]
    else:
        named = [(f"sceptic:{finding.key}#{finding.round}.{i + 1}", "sceptic") for i in range(spec.sceptics)]
    voted = {vote.by for vote in finding.votes}
    for name, kind in named:
        if name not in voted and finding.failures.get(name, 0) <= spec.retries:
            yield name, kind


def _missing_in_pass(facts: FinderFacts) -> list[LensFacts]:
    if not facts.pass_open:
        return []
    lenses = [facts.lenses[name] for name in facts.pass_lenses if name in facts.lenses]
    return [lens for lens in lenses if lens.failed is None and lens.ran_in < facts.pass_number]


def _lens_works(state: FinderState) -> list[Work]:
    return [
        Work(work=f"lens:{lens.name}", kind="lens", about=lens.name, ends_with="report")
        for lens in _missing_in_pass(state.facts)
        if f"lens:{lens.name}" not in state.busy and lens.due <= state.now
    ]


def _item_works(state: FinderState) -> list[Work]:
    if state.by_lenses and not (state.works_leads and state.facts.pass_open):
        return []
    works = (Work(work=f"item:{item.key}", kind="item", about=item.key) for item in state.ready)
    return [work for work in works if work.work not in state.busy]
