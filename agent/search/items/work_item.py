"""Work one item: with a worker (one step, no model), or with the model and reading tools."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...journal.event_store import Entry
from ...protocol import Event, Exhausted, StepFinished, StepStarted, Work, WorkFinished, WorkResult, WorkStarted
from ...step.resources.activity import PersonInterrupted
from ..budget_check import OUT_OF_TIME, no_room
from ..workers.worker import ItemResult, Worker, WorkItem
from .commit_batch import CommitBatch
from .frontier import CHUNK
from .item_intake import ItemIntake, KeyCounts
from .item_passes import ItemPasses

if TYPE_CHECKING:
    from ...step.resources.run_context import RunContext
    from ..lenses.model_work import ModelWork
    from .item_state import Candidate, Item, Surfaced


@dataclass(slots=True)
class _Step:
    """The step of an item in work, and the events of the item for the next commit."""

    item: Item
    work: str | None
    number: int
    seconds: float | None
    """Seconds that the work may take."""
    entries: list[Entry] = field(default_factory=list[Entry])

    def record(self, event: Event) -> None:
        self.entries.append((event, self.number, self.work))

    def take_notes(self) -> list[Entry]:
        noted, self.entries = self.entries, []
        return noted


@dataclass(slots=True)
class _End:
    """The end of a step."""

    step: _Step
    worked: ItemResult | None
    """None means that the item returns to the queue."""
    recorded: KeyCounts = field(default_factory=KeyCounts)
    """Number of keys that are already recorded."""
    last: Sequence[Candidate] = ()
    """Candidates that still have to be recorded, at most CHUNK."""


class ItemWorks:
    """Take items out of the queue and work each until it is done, queued again, or failed permanently."""

    def __init__(self, ctx: RunContext, intake: ItemIntake, worker: Worker | None, model_work: ModelWork) -> None:
        self._ctx, self._intake, self._worker, self._model_work = ctx, intake, worker, model_work
        self.offered: dict[str, Item] = {}
        """Items that the loop may order: in work for the frontier, but no worker has begun."""
        self._begins = _Begins(ctx, self.offered)
        self._ends = _Ends(ctx, intake, self.offered)

    async def perform(self, work: Work) -> WorkResult:
        """Work an item until it is done or its result is in the journal."""
        if self._worker is None:
            item = self.take(work)
            return WorkResult(work=work.work) if item is None else await self._model_work.perform(work, item)
        begun = await self._begins.ask(work)
        if isinstance(begun, _Step):
            return await self._by_worker(begun, self._worker)
        return WorkResult(work=work.work, exhausted=begun)

    def take(self, work: Work) -> Item | None:
        """Return the item of a work order, or None if a person skipped it before the work began."""
        return self.offered.pop(work.about, None)

    async def _by_worker(self, step: _Step, worker: Worker) -> WorkResult:
        try:
            with self._ctx.limits.running():
                worked = await self._worked(worker, step.item, step.seconds)
        except PersonInterrupted:
            await self._ends.ask(_End(step, None))
            return WorkResult(work=step.work, steps=1, interrupted=True)
        if worked is None:
            await self._ends.ask(_End(step, None))
            end = no_room(self._ctx) or OUT_OF_TIME
            return WorkResult(work=step.work, steps=1, exhausted=end)
        end = _End(step, worked, last=worked.items)
        if len(worked.items) > CHUNK:
            events = self._ctx.events.bound(step.number, step.work)
            with self._ctx.limits.running():  # writing a million items takes a minute
                end.recorded = await self._intake.add_items_in_chunks(worked.items[:-CHUNK], step.item.key, events)
            end.last = worked.items[-CHUNK:]
        await self._ends.ask(end)
        return WorkResult(work=step.work, steps=1)

    async def _worked(self, worker: Worker, item: Item, seconds: float | None) -> ItemResult | None:
        """Return the result, or None if the run's time ended first."""
        order = WorkItem(kind=item.kind, value=item.value, key=item.key, attempt=item.attempts + 1, source=item.source)
        try:
            async with asyncio.timeout(seconds):
                return await self._ctx.activity.interruptible(worker.work(order))
        except TimeoutError:
            return None


class _Begins(CommitBatch[Work, "_Step | Exhausted | None"]):
    """Begins the items whose orders come in one turn of the event loop."""

    def __init__(self, ctx: RunContext, offered: dict[str, Item]) -> None:
        super().__init__()
        self._ctx, self._offered = ctx, offered

    def commit(self, requests: Sequence[Work]) -> list[_Step | Exhausted | None]:
        """Record each item's step as begun. Returns the step, the budget that has no room for it, or None if it was
        skipped.
        """
        begun: list[_Step | Exhausted | None] = []
        steps: list[_Step] = []
        is_roomy = no_room(self._ctx, len(requests)) is None
        seconds = self._ctx.limits.seconds_for_work()
        for work in requests:
            if not is_roomy and (end := no_room(self._ctx, len(steps))) is not None:
                begun.append(end)
                continue
            if (item := self._offered.pop(work.about, None)) is None:
                begun.append(None)
                continue
            step = _Step(item, work.work, self._ctx.facts.step + len(steps) + 1, seconds)
            step.record(WorkStarted(kind="item", about=step.item.key, attempt=step.item.attempts + 1))
            step.record(StepStarted(number=step.number))
            steps.append(step)
            begun.append(step)
        if steps:
            self._ctx.events.record_all(
                _without_step(_passes(self._ctx).begin()) + [one for step in steps for one in step.take_notes()]
            )
        return begun


class _Ends(CommitBatch[_End, None]):
    """Ends the items whose results come in one turn of the event loop."""

    def __init__(self, ctx: RunContext, intake: ItemIntake, offered: dict[str, Item]) -> None:
        super().__init__()
        self._ctx, self._intake, self._offered = ctx, intake, offered

    def commit(self, requests: Sequence[_End]) -> list[None]:
        """Record what the items brought, their ends and the ends of their steps in one commit; several if more than a
        chunk.
        """
        for some in _in_commits(requests):
            entries, passes = list[Entry](), _passes(self._ctx)
            with self._ctx.events.together():
                batches = [(end.last, end.step.item.key) for end in some]
                for end, surfaced in zip(some, self._intake.surface_all(batches), strict=True):
                    entries += _without_step(passes.begin())
                    new = self._note_end(end, surfaced)
                    entries += end.step.take_notes()
                    entries += _without_step(passes.count(new)) if end.worked is not None else []
                if back := [end.step.item.key for end in some if end.worked is None]:
                    # Items that were taken out later and never begun return too, so that the order stays the same.
                    self._intake.frontier.roll_back([*back, *self._offered])
                    self._offered.clear()
                if done := [end.step.item.key for end in some if end.worked is not None and not end.worked.error]:
                    self._intake.frontier.finish_all(done)
                self._ctx.events.record_all(entries)
        return [None] * len(requests)

    def _note_end(self, end: _End, surfaced: Surfaced) -> int:
        """Record an item's end, and return how many of its new keys no event has counted yet."""
        step, worked, new = end.step, end.worked, 0
        key = step.item.key
        if worked is None:
            step.record(WorkFinished(kind="item", about=key, ok=False, interrupted=True))
        else:
            if worked.moves_to and not worked.error:
                worked = end.worked = self._intake.close_circle(step.item, worked, step)
            final = bool(worked.error) and self._is_final(step.item, worked)
            last = self._intake.note_items(surfaced, key, step) + self._intake.add_findings(worked.findings, key, step)
            if final:
                self._intake.report_end(worked.if_final, key, step)
            counts, new = end.recorded + last, last.new
            if not worked.error:
                self._intake.refute_dead_link(key, step)
            else:
                self._intake.record_failure(step.item, worked.error, step, final=final, wait=worked.retry_after)
            step.record(
                WorkFinished(
                    kind="item",
                    about=key,
                    ok=not worked.error,
                    new=counts.new,
                    known=counts.known,
                    found_new=worked.found_new,
                    reason=worked.reason,
                    unread=worked.unread,
                    error=worked.error,
                )
            )
        step.record(StepFinished(number=step.number, seconds=self._ctx.limits.count_seconds()))
        return new

    def _is_final(self, item: Item, worked: ItemResult) -> bool:
        """Return whether the item is not tried again after this failure."""
        return worked.hopeless or item.attempts >= self._ctx.facts.search.retries


def _passes(ctx: RunContext) -> ItemPasses:
    assert ctx.facts.finder is not None  # a run with items is a search
    return ItemPasses(ctx.facts.finder, ctx.facts.search)


def _without_step(events: Sequence[Event]) -> list[Entry]:
    """Wrap events that belong to no step."""
    return [(event, None, None) for event in events]


def _in_commits(ends: Sequence[_End]) -> Iterator[list[_End]]:
    """Split the ends into groups of at most CHUNK items."""
    some, count = list[_End](), 0
    for end in ends:
        if some and count + len(end.last) > CHUNK:
            yield some
            some, count = [], 0
        some.append(end)
        count += len(end.last)
    if some:
        yield some
