"""Works one item: by a worker without a model, which is one step, or by the model with reading tools."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ...journal import Entry
from ...protocol import Event, StepFinished, StepStarted, Work, WorkFinished, WorkResult, WorkStarted
from ...step import Kit, PersonInterrupted
from ..budget_check import OUT_OF_TIME, no_room
from ..lenses.asking import Asking
from ..workers import Worked, Worker, WorkItem
from .commit_batch import Turn
from .frontier import CHUNK
from .item_intake import Books, Brought
from .item_passes import ItemPasses
from .item_state import Candidate, Item, Surfaced


@dataclass(slots=True)
class _Step:
    """An item in work: its step, and what is to be recorded of it in the next commit."""

    item: Item
    work: str | None
    number: int
    entries: list[Entry] = field(default_factory=list[Entry])

    def note(self, event: Event) -> None:
        self.entries.append((event, self.number, self.work))

    def take_notes(self) -> list[Entry]:
        noted, self.entries = self.entries, []
        return noted


@dataclass(slots=True)
class _End:
    """What came of a step. None: the item goes back into the queue."""

    step: _Step
    worked: Worked | None
    brought: Brought = field(default_factory=Brought)
    """What is booked already."""
    last: Sequence[Candidate] = ()
    """What is still to be booked, at most CHUNK."""


class ItemWorks:
    """Takes items out of the queue and brings each to its end: done, queued again, or set aside."""

    def __init__(self, kit: Kit, books: Books, worker: Worker | None, asking: Asking) -> None:
        self._kit, self._books, self._worker, self._asking = kit, books, worker, asking
        self.offered: dict[str, Item] = {}
        """What the loop may order: in work for the frontier, and for nobody yet."""
        self._begin = Turn(self._begin_all)
        self._end = Turn(self._end_all)

    async def perform(self, work: Work) -> WorkResult:
        """The item is done, or what became of it is said in the journal."""
        if self._worker is None:
            item = self.take(work)
            return WorkResult(work=work.work) if item is None else await self._asking.perform(work, item)
        begun = await self._begin(work)
        if isinstance(begun, _Step):
            return await self._by_worker(begun, self._worker)
        return WorkResult(work=work.work, exhausted=begun)

    def take(self, work: Work) -> Item | None:
        """The item that a work is about; None: a person skipped it between its order and its beginning."""
        return self.offered.pop(work.about, None)

    def _begin_all(self, works: Sequence[Work]) -> list[_Step | str | None]:
        """Each item's step, recorded as begun; the budget that leaves no room for one more; None: it was skipped."""
        begun: list[_Step | str | None] = []
        steps: list[_Step] = []
        is_roomy = no_room(self._kit, len(works)) is None
        for work in works:
            if not is_roomy and (end := no_room(self._kit, len(steps))) is not None:
                begun.append(end)
                continue
            if (item := self.take(work)) is None:
                begun.append(None)
                continue
            step = _Step(item, work.work, self._kit.facts.step + len(steps) + 1)
            step.note(WorkStarted(kind="item", about=step.item.key, attempt=step.item.attempts + 1))
            step.note(StepStarted(number=step.number))
            steps.append(step)
            begun.append(step)
        if steps:
            self._kit.record_all(_frame(self._passes().begin()) + [one for step in steps for one in step.take_notes()])
        return begun

    def _passes(self) -> ItemPasses:
        facts = self._kit.facts.finder
        assert facts is not None  # this is a search
        return ItemPasses(facts, self._kit.facts.search)

    async def _by_worker(self, step: _Step, worker: Worker) -> WorkResult:
        try:
            with self._kit.watch.running():
                worked = await self._worked(worker, step.item)
        except PersonInterrupted:
            await self._end(_End(step, None))
            return WorkResult(work=step.work, steps=1, interrupted=True)
        if worked is None:
            await self._end(_End(step, None))
            end = no_room(self._kit) or OUT_OF_TIME
            return WorkResult(work=step.work, steps=1, exhausted=end)
        end = _End(step, worked, last=worked.items)
        if len(worked.items) > CHUNK:
            record = self._kit.recorder(step.number, step.work)
            with self._kit.watch.running():  # a million take a minute
                end.brought = await self._books.items_in_chunks(worked.items[:-CHUNK], step.item.key, record)
            end.last = worked.items[-CHUNK:]
        await self._end(end)
        return WorkResult(work=step.work, steps=1)

    async def _worked(self, worker: Worker, item: Item) -> Worked | None:
        """None: the run's time was over before the worker was done."""
        order = WorkItem(kind=item.kind, value=item.value, key=item.key, attempt=item.attempts + 1)
        try:
            async with asyncio.timeout(self._kit.seconds_for_work()):
                return await self._kit.interruptible(worker.work(order))
        except TimeoutError:
            return None

    def _end_all(self, ends: Sequence[_End]) -> list[None]:
        """What they brought, their own ends and their steps', in one commit; more than a chunk of items in several."""
        for some in _in_commits(ends):
            entries, passes = list[Entry](), self._passes()
            with self._kit.together():
                brought = [(end.last, end.step.item.key) for end in some]
                for end, surfaced in zip(some, self._books.surface_all(brought), strict=True):
                    entries += _frame(passes.begin())
                    new = self._note_end(end, surfaced)
                    entries += end.step.take_notes()
                    entries += _frame(passes.count(new)) if end.worked is not None else []
                if back := [end.step.item.key for end in some if end.worked is None]:
                    # With them what was taken out after them and nobody began: they come before it again.
                    self._books.frontier.roll_back([*back, *self.offered])
                    self.offered.clear()
                if done := [end.step.item.key for end in some if end.worked is not None and not end.worked.error]:
                    self._books.frontier.finish_all(done)
                self._kit.record_all(entries)
        return [None] * len(ends)

    def _note_end(self, end: _End, surfaced: Surfaced) -> int:
        """How many new keys it brought that no event tells of yet."""
        step, worked, new = end.step, end.worked, 0
        note, key = step.note, step.item.key
        if worked is None:
            note(WorkFinished(kind="item", about=key, ok=False, interrupted=True))
        else:
            last = self._books.note_items(surfaced, key, note) + self._books.findings(worked.findings, key, note)
            brought, new = end.brought + last, last.new
            if worked.error:
                final = worked.hopeless or step.item.attempts >= self._kit.facts.search.retries
                self._books.failed(step.item, worked.error, note, final=final, wait=worked.retry_after)
            note(
                WorkFinished(
                    kind="item",
                    about=key,
                    ok=not worked.error,
                    new=brought.new,
                    known=brought.known,
                    found_new=worked.found_new,
                    reason=worked.reason,
                    error=worked.error,
                )
            )
        note(StepFinished(number=step.number, seconds=self._kit.count_seconds()))
        return new


def _frame(events: Sequence[Event]) -> list[Entry]:
    """They are of no step."""
    return [(event, None, None) for event in events]


def _in_commits(ends: Sequence[_End]) -> Iterator[list[_End]]:
    """Together at most CHUNK items in each."""
    some, count = list[_End](), 0
    for end in ends:
        if some and count + len(end.last) > CHUNK:
            yield some
            some, count = [], 0
        some.append(end)
        count += len(end.last)
    if some:
        yield some
