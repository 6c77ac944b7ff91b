"""A worker that sends items in batches to a Dask cluster. Frontier, budget, retries and journal stay in the runner."""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from ...protocol import ClusterWorker, UserError
from ..crawl import Crawler
from ..workers import ItemResult, WorkItem
from .batches import BatchSize
from .cluster import Cluster
from .connection import Connection, ConnectionLost, WorkerDied, WorkerLoad
from .order import BatchResult, encode_items

_POLL_SECONDS = 1.0
"""Seconds between two queries for the workers of the cluster."""
_RECORD_SECONDS = 2.0
"""Seconds between two events with the load of the workers."""
_NO_WORKER_SECONDS = 30.0
"""Seconds without any worker after which the waiting items fail and are tried again later."""


@dataclass(slots=True, eq=False)
class _Waiting:
    """An item that was not answered yet."""

    item: WorkItem
    answer: asyncio.Future[ItemResult]


@dataclass(slots=True, eq=False)
class _Batch:
    """Items that are worked together."""

    name: str
    members: list[_Waiting]
    task: asyncio.Task[None] | None = field(default=None)

    @property
    def is_wanted(self) -> bool:
        """Whether someone waits for an item of it."""
        return any(not one.answer.done() for one in self.members)


class RemoteWorker:
    """Works items on the cluster, as many batches at the same time as it has threads, and a few that wait there."""

    def __init__(
        self,
        cluster: Cluster,
        job: bytes,
        crawler: Crawler | None = None,
        on_seen: Callable[[list[ClusterWorker]], object] = lambda workers: None,
    ) -> None:
        """`job`: the encoded `Job`. `crawler`: lets a page through when robots.txt and the rate allow it.

        `on_seen` gets the workers when they changed.
        """
        self._cluster, self._job, self._crawler, self._on_seen = cluster, job, crawler, on_seen
        self._run = secrets.token_hex(6)
        self._number = 0
        self._queue: deque[_Waiting] = deque()
        self._batches: set[_Batch] = set()
        self._size = BatchSize()
        self._changed = asyncio.Event()
        self._threads = 0
        self._loops: list[asyncio.Task[None]] = []
        self._seen: list[ClusterWorker] = []
        self._recorded_at = float("-inf")

    async def work(self, item: WorkItem) -> ItemResult:
        """Return the item's result. Cancelling ends it on its worker."""
        if self._crawler is not None and (early := await self._crawler.admit(item)) is not None:
            return early
        if not self._loops:
            self._loops = [asyncio.create_task(self._send_all()), asyncio.create_task(self._poll_workers())]
        waiting = _Waiting(item, asyncio.get_running_loop().create_future())
        self._queue.append(waiting)
        self._changed.set()
        try:
            return await waiting.answer
        except asyncio.CancelledError:
            await self._cancel(waiting)
            raise

    async def close(self) -> None:
        """End all batches and close the cluster. May be called twice."""
        loops, self._loops = self._loops, []
        tasks = [*loops, *(batch.task for batch in self._batches if batch.task is not None)]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._crawler is not None:
            await self._crawler.close()
        await self._cluster.close()

    async def _cancel(self, waiting: _Waiting) -> None:
        """Withdraw a cancelled item. If no item of its batch is wanted any more, end the batch."""
        if waiting in self._queue:
            self._queue.remove(waiting)
        for batch in [one for one in self._batches if waiting in one.members and not one.is_wanted]:
            if batch.task is not None:
                batch.task.cancel()
                await asyncio.wait([batch.task])

    async def _send_all(self) -> None:
        """Send waiting items whenever a thread of the cluster is free."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            await asyncio.sleep(0)  # items that begin in the same turn share batches
            if not self._queue:
                continue
            try:
                connection = await self._cluster.connected()
                await self._wait_for_workers(connection)
            except (ConnectionLost, UserError) as lost:
                self._fail_waiting(str(lost))
                continue
            while self._queue and (free := self._most_batches - len(self._batches)) > 0:
                self._send(connection, self._next_batch(free))

    @property
    def _most_batches(self) -> int:
        """How many batches are sent: one for each thread and as many that wait, so that none waits for the runner."""
        return 2 * self._threads

    def _next_batch(self, free: int) -> list[_Waiting]:
        """Take the next items. One that failed before goes alone: it may be what ends its worker."""
        members = [self._queue.popleft()]
        size = self._size.size(len(self._queue) + 1, free)
        while len(members) < size and self._queue and members[0].item.attempt == self._queue[0].item.attempt == 1:
            members.append(self._queue.popleft())
        return members

    def _send(self, connection: Connection, members: list[_Waiting]) -> None:
        self._number += 1
        batch = _Batch(f"{self._run}-{self._number}", members)
        self._batches.add(batch)
        batch.task = asyncio.create_task(self._perform(connection, batch))

    async def _perform(self, connection: Connection, batch: _Batch) -> None:
        """Work a batch and set the results of its items. Items that were not begun return to the front of the queue."""
        try:
            data = await connection.submit(batch.name, self._job, encode_items([one.item for one in batch.members]))
            self._answer(batch, msgspec.json.decode(data, type=BatchResult))
        except ConnectionLost:
            await self._cluster.drop(connection)
            self._return(batch.members)
        except WorkerDied as died:
            for one in batch.members:
                _settle(one, ItemResult(error=str(died)))
        except asyncio.CancelledError:
            await connection.cancel([batch.name])
            raise
        finally:
            self._batches.discard(batch)
            self._changed.set()

    def _answer(self, batch: _Batch, result: BatchResult) -> None:
        done = [answer for answer in result.answers if answer.worked is not None]
        self._size.note(len(done), sum(answer.seconds for answer in done))
        later: list[_Waiting] = []
        for one, answer in zip(batch.members, result.answers, strict=True):
            if answer.worked is None:
                later.append(one)
            else:
                _settle(one, answer.worked)
        self._return(later)

    def _return(self, members: Sequence[_Waiting]) -> None:
        self._queue.extendleft(one for one in reversed(members) if not one.answer.done())

    async def _wait_for_workers(self, connection: Connection) -> None:
        """Query the workers, and wait while there are none. Raises ConnectionLost."""
        loop = asyncio.get_running_loop()
        until = loop.time() + _NO_WORKER_SECONDS
        while self._threads == 0:
            self._update_workers(await connection.workers())
            if self._threads == 0:
                if loop.time() >= until:
                    raise ConnectionLost("the Dask scheduler has no workers; start some with `dask worker`")
                await asyncio.sleep(_POLL_SECONDS / 4)

    async def _poll_workers(self) -> None:
        """Query the workers from time to time: some may have come or gone."""
        while True:
            await asyncio.sleep(_POLL_SECONDS)
            try:
                self._update_workers(await self._cluster.workers())
            except ConnectionLost:
                continue  # the batches notice it too, and they decide what to do
            self._changed.set()

    def _update_workers(self, loads: Sequence[WorkerLoad]) -> None:
        self._threads = sum(load.threads for load in loads)
        now = asyncio.get_running_loop().time()
        seen = self._described(loads)
        if seen != self._seen and (now >= self._recorded_at + _RECORD_SECONDS or len(seen) != len(self._seen)):
            self._seen, self._recorded_at = seen, now
            self._on_seen(seen)

    def _described(self, loads: Sequence[WorkerLoad]) -> list[ClusterWorker]:
        """Return the workers with the items that this run gave them."""
        members = {batch.name: batch.members for batch in self._batches}
        found: list[ClusterWorker] = []
        for load in sorted(loads, key=lambda one: one.name):
            given = [one for name in load.batches for one in members.get(name, ())]
            found.append(
                ClusterWorker(
                    name=load.name,
                    threads=load.threads,
                    batches=sum(name in members for name in load.batches),
                    items=len(given),
                    doing=given[0].item.value if given else "",
                    cpu=round(load.cpu),
                    memory=load.memory // 1_000_000 * 1_000_000,
                )
            )
        return found

    def _fail_waiting(self, why: str) -> None:
        waiting, self._queue = self._queue, deque()
        for one in waiting:
            _settle(one, ItemResult(error=why))


def _settle(waiting: _Waiting, worked: ItemResult) -> None:
    if not waiting.answer.done():
        waiting.answer.set_result(worked)
