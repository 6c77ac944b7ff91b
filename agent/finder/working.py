"""Works one item: by a worker without a model, which is one step, or by the model with reading tools."""

from __future__ import annotations

import asyncio

from ..protocol import FinderSpec, Record, StepFinished, StepStarted, Work, WorkFinished, WorkResult, WorkStarted
from ..step import Kit, PersonInterrupted
from .asking import Asking
from .books import Books, Brought
from .fates import Item
from .frontier import CHUNK
from .room import OUT_OF_TIME, no_room
from .workers import Worked, Worker, WorkItem


class ItemWorks:
    """Takes items out of the queue and brings each to its end: done, queued again, or set aside."""

    def __init__(self, kit: Kit, spec: FinderSpec, books: Books, worker: Worker | None, asking: Asking) -> None:
        self._kit, self._spec, self._books, self._worker, self._asking = kit, spec, books, worker, asking
        self.offered: dict[str, Item] = {}
        """What the loop may order: in work for the frontier, and for nobody yet."""

    async def perform(self, work: Work) -> WorkResult:
        """The item is done, or what became of it is said in the journal."""
        if self._worker is None:
            return await self._asking.perform(work, self.offered.pop(work.about))
        if (end := no_room(self._kit)) is not None:
            return WorkResult(work=work.work, exhausted=end)
        item = self.offered.pop(work.about)
        return await self._by_worker(work, item, self._worker)

    async def _by_worker(self, work: Work, item: Item, worker: Worker) -> WorkResult:
        kit, name = self._kit, work.work
        number = kit.facts.step + 1
        record = kit.recorder(number, name)
        with kit.together():
            record(WorkStarted(kind="item", about=item.key, attempt=item.attempts + 1))
            record(StepStarted(number=number))
        try:
            with kit.watch.running():
                worked = await self._worked(worker, item)
        except PersonInterrupted:
            self._put_back(item, number, record)
            return WorkResult(work=name, steps=1, interrupted=True)
        if worked is None:
            self._put_back(item, number, record)
            end = no_room(kit) or OUT_OF_TIME
            return WorkResult(work=name, steps=1, exhausted=end)
        await self._settle(item, worked, number, record)
        return WorkResult(work=name, steps=1)

    async def _worked(self, worker: Worker, item: Item) -> Worked | None:
        """None: the run's time was over before the worker was done."""
        order = WorkItem(kind=item.kind, value=item.value, key=item.key, attempt=item.attempts + 1)
        try:
            async with asyncio.timeout(self._kit.seconds_for_work()):
                return await self._kit.interruptible(worker.work(order))
        except TimeoutError:
            return None

    def _put_back(self, item: Item, number: int, record: Record) -> None:
        with self._kit.together():
            self._books.frontier.roll_back([item.key])
            record(WorkFinished(kind="item", about=item.key, ok=False, interrupted=True))
            record(StepFinished(number=number, seconds=self._kit.count_seconds()))

    async def _settle(self, item: Item, worked: Worked, number: int, record: Record) -> None:
        """What it brought, its own end and the step's, in one commit; more than a chunk of items in several."""
        last, brought = worked.items, Brought()
        if len(worked.items) > CHUNK:
            brought = await self._books.items_in_chunks(worked.items[:-CHUNK], item.key, record)
            last = worked.items[-CHUNK:]
        with self._kit.together():
            brought += self._books.items(last, item.key, record)
            brought += self._books.findings(worked.findings, item.key, record)
            if worked.error:
                final = worked.hopeless or item.attempts >= self._spec.retries
                self._books.failed(item, worked.error, record, final=final, wait=worked.retry_after)
            else:
                self._books.frontier.finish(item.key)
            record(
                WorkFinished(
                    kind="item",
                    about=item.key,
                    ok=not worked.error,
                    new=brought.new,
                    known=brought.known,
                    found_new=worked.found_new,
                    reason=worked.reason,
                    error=worked.error,
                )
            )
            record(StepFinished(number=number, seconds=self._kit.count_seconds()))
