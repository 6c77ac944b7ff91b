"""Enter what workers return into the frontier and the journal, in one commit: an item is seen before it is judged."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...protocol import (
    FindingJudged,
    FindingReported,
    ItemDuplicate,
    ItemFailed,
    ItemQueued,
    ItemSkipped,
    QueueReason,
)
from ...state.search.finding_facts import DEAD_LINK, backoff
from ..crawl.dead_links import dead_link
from ..lenses.known_findings import KnownFindings, identity
from ..workers.worker import ItemResult, ReportedFinding, WorkItem
from .frontier import Frontier, in_chunks
from .item_keys import item_key
from .item_state import Candidate, Item, State, Surfaced

if TYPE_CHECKING:
    from ...state.recorder import Events
    from ...step.resources.run_context import RunContext
    from ..review.reviewed import Reviewed

LONGEST_WAIT = 600.0
"""Seconds. If a server asks to wait longer, the item fails permanently; resuming the run tries it again."""

_SHOWN_OF_WAY = 5
"""Maximum number of addresses that the error about a loop of redirects names."""

"""Records an event, or adds it to the events that are recorded together."""


@dataclass(frozen=True, slots=True)
class KeyCounts:
    """How many keys were new or known. Can be added."""

    new: int = 0
    """Keys that were not seen before."""
    known: int = 0
    """Keys that were seen before. Findings that may repeat another finding count as neither."""

    def __add__(self, other: KeyCounts) -> KeyCounts:
        return KeyCounts(self.new + other.new, self.known + other.known)


class ItemIntake:
    """The only writer of the frontier. Call all methods but `add_items_in_chunks` inside of `ctx.events.together()`."""

    def __init__(self, ctx: RunContext, frontier: Frontier, root: Path, review: Reviewed | None = None) -> None:
        assert ctx.facts.finder is not None  # a run with items is a search
        self.frontier = frontier
        self._ctx, self._root, self._facts = ctx, root, ctx.facts.finder
        self._known, self._review = KnownFindings(self._facts, ctx.journal), review

    def add_items(
        self, found: Sequence[Candidate], source: str, events: Events, *, reason: QueueReason = "new"
    ) -> KeyCounts:
        """Queue the candidates with a new key, and record each other one as a duplicate with its source.

        Takes at most CHUNK candidates.
        """
        (surfaced,) = self.surface_all([(found, source)])
        return self.note_items(surfaced, source, events, reason=reason)

    def surface_all(self, batches: Sequence[tuple[Sequence[Candidate], str]]) -> list[Surfaced]:
        """Enter what several sources returned as seen, and queue what is new. Call `note_items` for each result."""
        return self.frontier.surface_all(batches, self._root)

    def note_items(self, surfaced: Surfaced, source: str, events: Events, *, reason: QueueReason = "new") -> KeyCounts:
        """Record an event for each item that surfaced."""
        for item in surfaced.new:
            events.record(ItemQueued(key=item.key, kind=item.kind, value=item.value, source=source, reason=reason))
        for key, value in surfaced.known:
            events.record(ItemDuplicate(key=key, source=source, value="" if value == key else value))
        return KeyCounts(len(surfaced.new), len(surfaced.known))

    async def add_items_in_chunks(self, found: Sequence[Candidate], source: str, events: Events) -> KeyCounts:
        """Enter all chunks but the last, each in its own commit. After a kill in between, the item is worked again and
        these candidates are duplicates.
        """
        total = KeyCounts()
        for chunk in in_chunks(found):
            with self._ctx.events.together():
                total += self.add_items(chunk, source, events)
            await asyncio.sleep(0)
        return total

    def requeue(self, one: Candidate, events: Events) -> str | None:
        """Queue a known item again for a person. Returns why that is not possible, or None."""
        key = item_key(one.kind, one.value, self._root)
        row = self.frontier.find(key)
        if row is None or row.state in (State.QUEUED, State.WORKING):
            return f"{key} is already in the queue" if row is not None else f"{key} is not an item of this search"
        self.frontier.requeue(key, "person", attempts=0)
        was = row.state.value
        events.record(ItemQueued(key=key, kind=one.kind, value=one.value, source="person", reason="person", was=was))
        return None

    def add_findings(
        self, found: Sequence[ReportedFinding], source: str, events: Events, *, by_model: bool = False
    ) -> KeyCounts:
        """Record each finding that is not known yet. It is judged later.

        A finding with another title at a known place may repeat the one there. It is recorded as such and counts as new
        only after it is judged to be distinct (docs/requirements.md 2.4.6).
        """
        new = known = 0
        for one in found:
            what = identity(one.title, one.evidence, one.key, self._root)
            match = self._known.match(one.title, what, by_model=by_model)
            if match.is_known or not self.frontier.note_finding(match.key):
                events.record(ItemDuplicate(key=match.key, source=source, value=one.title))
                known += 1
                continue
            self._known.add(match.key, one.title, what.place)
            events.record(
                FindingReported(
                    key=match.key,
                    title=one.title,
                    detail=one.detail,
                    evidence=one.evidence,
                    source=source,
                    place=what.place,
                    may_repeat=match.may_repeat,
                    relation=self._review.relation(one.evidence, one.detail) if self._review is not None else "",
                )
            )
            new += match.may_repeat is None
        return KeyCounts(new, known)

    def close_circle(self, item: Item, worked: ItemResult, events: Events) -> ItemResult:
        """Return the result of an item that only leads to another one: a failure if its moves form a circle.

        The items that were done on this way failed, too.
        """
        way = self.frontier.note_move(item.key, item_key("url", worked.moves_to, self._root))
        if not way:
            self.frontier.finish(item.key)  # now: the way of an item of the same commit may lead through it
            return worked
        shown = way if len(way) <= _SHOWN_OF_WAY else [*way[: _SHOWN_OF_WAY - 1], "..."]
        error = f"a loop of redirects: {' -> '.join([*shown, way[0]])}"
        for key in way[1:]:
            row = self.frontier.find(key)
            if row is not None and row.state is State.DONE:
                self.frontier.set_aside(key, error, row.attempts + 1)
                events.record(ItemFailed(key=key, error=error, attempts=row.attempts + 1, final=True))
                self.report_end(dead_link(WorkItem(row.kind, row.value, key, source=row.source), error), key, events)
        found = dead_link(WorkItem(item.kind, item.value, item.key, source=item.source), error)
        return msgspec.structs.replace(worked, error=error, hopeless=True, if_final=found)

    def report_end(self, found: ReportedFinding | None, key: str, events: Events) -> None:
        """Report the finding about an item that failed permanently, or confirm it again. It is not a new key."""
        if found is None:
            return
        self.add_findings([found], key, events)
        known = self._facts.findings.get(found.key or "")
        if known is not None and known.by != "person":
            events.record(FindingJudged(key=known.key, verdict="confirmed", by="none", reasons=["it fails again"]))

    def refute_dead_link(self, key: str, events: Events) -> None:
        """Refute the dead link that was reported for this page, because the page answers now."""
        finding = self._facts.findings.get(f"{DEAD_LINK}{key}")
        if finding is not None and finding.verdict != "refuted":
            events.record(
                FindingJudged(key=finding.key, verdict="refuted", by="none", reasons=["the page was read later"])
            )

    def record_failure(self, item: Item, error: str, events: Events, *, final: bool, wait: float | None = None) -> None:
        """Queue the item again with backoff, or mark it as failed permanently. A failure is never an empty result."""
        attempts = item.attempts + 1
        if wait is not None and wait > LONGEST_WAIT and not final:
            error, final = f"{error} (asks to wait {wait:,.0f} s)", True
        events.record(ItemFailed(key=item.key, error=error, attempts=attempts, final=final))
        if final:
            self.frontier.set_aside(item.key, error, attempts)
            return
        due = self._ctx.clock.now() + max(backoff(attempts), wait or 0.0)
        self.frontier.retry(item.key, error, due, attempts)
        events.record(
            ItemQueued(
                key=item.key,
                kind=item.kind,
                value=item.value,
                source=item.source,
                reason="retry",
                attempts=attempts,
                due=due,
            )
        )

    def skip(self, key: str, events: Events) -> bool:
        """Take an item out of the queue or out of the failed items. Returns False if it is in neither."""
        row = self.frontier.find(key)
        if row is None or not self.frontier.skip(key):
            return False
        events.record(ItemSkipped(key=key, was=row.state.value if row.state is State.SET_ASIDE else None))
        return True
