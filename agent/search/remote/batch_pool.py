"""Send orders in batches to a Dask cluster, and answer each of them."""

from __future__ import annotations

import asyncio
import secrets
from collections import defaultdict, deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec
from msgspec.structs import replace

from ...protocol import ClusterWorker, UserError, WorkersSeen
from .batches import Batch, BatchSize, ClusterAway, NotWorked, WaitingOrder, WorkerOrder
from .cluster_connection import Connection, ConnectionLost, WorkerDied
from .loads import WorkerLoad, described
from .order import BatchResult, join_orders
from .trees.scan import TreeChanged, WorkspaceTree

if TYPE_CHECKING:
    from ...state.recorder import Events
    from .cluster import Cluster

_POLL_SECONDS = 1.0
"""Seconds between two queries for the workers of the cluster."""
_RECORD_SECONDS = 2.0
"""Seconds between two events with the load of the workers."""
_NO_WORKER_SECONDS = 30.0
"""Seconds without any worker after which the waiting orders fail and are tried again later."""
_REFUSED_SECONDS = 60.0
"""Seconds after which a worker that refused a batch is asked again: its folder may be mounted by then."""
_MOST_SUPPLIES = 20
"""How often files are sent for one order. Two times are enough, unless Dask moves it from worker to worker."""
_MESSAGE_BYTES = 8_000_000
"""Bytes after which a message is sent: the scheduler holds it in memory."""


class Orders(Protocol):
    """The interface of whatever works orders."""

    async def work(self, order: WorkerOrder) -> msgspec.Raw:
        """Return the encoded result. Cancelling ends it on its worker. Raises NotWorked, TreeChanged."""
        ...

    async def close(self) -> None:
        """End everything. May be called twice."""
        ...


class BatchPool:
    """Works orders on the cluster, as many batches at the same time as it has threads, and a few that wait there."""

    def __init__(self, cluster: Cluster, events: Events | None = None) -> None:
        """`events`: records the workers when they changed. None means that nothing records them."""
        self._cluster, self._events = cluster, events
        self._run = secrets.token_hex(6)
        self._number = 0
        self._queue: deque[WaitingOrder] = deque()
        self._batches: set[Batch] = set()
        self._size = BatchSize()
        self._supply = _Supply()
        self._changed = asyncio.Event()
        self._usable: dict[str, int] = {}
        """Threads of each worker that gets batches, by address."""
        self._refusing: dict[str, tuple[float, str]] = {}
        """Until when a worker gets no batches because it refused one, and why."""
        self._loops: list[asyncio.Task[None]] = []
        self._seen: list[ClusterWorker] = []
        self._recorded_at = float("-inf")

    async def work(self, order: WorkerOrder) -> msgspec.Raw:
        """Return the encoded result. Cancelling ends it on its worker. Raises NotWorked, TreeChanged."""
        if not self._loops:
            self._loops = [asyncio.create_task(self._send_all()), asyncio.create_task(self._poll_workers())]
        waiting = WaitingOrder(order, asyncio.get_running_loop().create_future())
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
        await self._cluster.close()

    async def _cancel(self, waiting: WaitingOrder) -> None:
        """Withdraw a cancelled order. If no order of its batch is wanted any more, end the batch."""
        if waiting in self._queue:
            self._queue.remove(waiting)
        for batch in [one for one in self._batches if waiting in one.members and not one.is_wanted]:
            if batch.task is not None:
                batch.task.cancel()
                await asyncio.wait([batch.task])

    async def _send_all(self) -> None:
        """Send waiting orders whenever a thread of the cluster is free."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            await asyncio.sleep(0)  # orders that begin in the same turn share batches
            if not self._queue:
                continue
            try:
                connection = await self._cluster.connected()
                await self._wait_for_workers()
            except (ConnectionLost, UserError) as lost:
                self._fail_waiting(str(lost))
                continue
            while self._queue and (free := self._most_batches - len(self._batches)) > 0:
                self._send(connection, self._next_batch(free))

    @property
    def _most_batches(self) -> int:
        """Return how many batches to send: two for each thread, so that no thread waits for the runner."""
        return 2 * sum(self._usable.values())

    def _next_batch(self, free: int) -> list[WaitingOrder]:
        """Take the next orders."""
        members = [self._queue.popleft()]
        size = self._size.size(len(self._queue) + 1, free)
        while len(members) < size and self._queue and not members[0].order.is_alone and members[0].fits(self._queue[0]):
            members.append(self._queue.popleft())
        return members

    def _send(self, connection: Connection, members: list[WaitingOrder]) -> None:
        self._number += 1
        preferred = members[0].worker if members[0].worker in self._usable else ""
        for one in members:
            one.worker = preferred
        is_limited = self._cluster.is_open or bool(self._refusing)
        workers = [preferred] if preferred else list(self._usable) if is_limited else None
        batch = Batch(f"{self._run}-{self._number}", members, workers)
        self._batches.add(batch)
        batch.task = asyncio.create_task(self._perform(connection, batch))

    async def _perform(self, connection: Connection, batch: Batch) -> None:
        """Work a batch and answer its orders. Orders that were not begun return to the front of the queue."""
        first, orders = batch.members[0], join_orders([one.order.data for one in batch.members])
        tree = first.order.tree
        try:
            digest = "" if tree is None else tree.digest
            data = await connection.submit(batch.name, first.order.job, orders, digest, batch.workers)
            result = msgspec.json.decode(data, type=BatchResult)
            if result.refuses:
                self._refuse(batch, result)
            elif result.needs and tree is not None:
                await self._send_files(connection, batch, tree, result)
            else:
                self._answer(batch, result)
        except ConnectionLost as lost:
            if await self._cluster.drop(connection):
                self._record_loss(str(lost))
            self._return(batch.members)
        except WorkerDied as died:
            for one in batch.members:
                one.settle(NotWorked(str(died)))
        except TreeChanged as changed:
            for one in batch.members:
                one.settle(changed)
        except asyncio.CancelledError:
            if not batch.is_stranded:
                await connection.cancel([batch.name])
                raise
            self._return(batch.members)
        finally:
            self._batches.discard(batch)
            self._changed.set()

    async def _send_files(self, connection: Connection, batch: Batch, tree: WorkspaceTree, result: BatchResult) -> None:
        """Send the worker what it lacks, and return the orders to the queue for this worker. Raises TreeChanged."""
        problem = await self._supply.send(connection, result.by, tree, result.needs)
        for one in batch.members:
            one.worker, one.supplies = ("" if problem else result.by), one.supplies + 1
            if one.supplies > _MOST_SUPPLIES:
                one.settle(NotWorked(f"its files did not arrive on the workers: {problem or 'they need them again'}"))
        self._return(batch.members)

    def _refuse(self, batch: Batch, result: BatchResult) -> None:
        """Return the orders to the queue for other workers. If there are none, the orders fail."""
        until = asyncio.get_running_loop().time() + _REFUSED_SECONDS
        if self._usable.keys() - {result.by}:
            self._usable.pop(result.by, None)
            self._refusing[result.by] = (until, result.refuses)
            self._return(batch.members)
            return
        for one in batch.members:
            one.settle(NotWorked(f"worker {result.by}: {result.refuses}"))

    def _answer(self, batch: Batch, result: BatchResult) -> None:
        done = [answer for answer in result.answers if answer.is_worked]
        self._size.note(len(done), sum(answer.seconds for answer in done))
        later: list[WaitingOrder] = []
        for one, answer in zip(batch.members, result.answers, strict=True):
            if answer.is_worked:
                one.settle(answer.worked)
            elif answer.error:
                one.settle(NotWorked(answer.error))
            else:
                later.append(one)
        self._return(later)

    def _return(self, members: Sequence[WaitingOrder]) -> None:
        self._queue.extendleft(one for one in reversed(members) if not one.answer.done())

    async def _wait_for_workers(self) -> None:
        """Query the workers, and wait while there are none. Raises ConnectionLost."""
        loop = asyncio.get_running_loop()
        until = loop.time() + _NO_WORKER_SECONDS
        while not self._usable:
            loads = await self._cluster.workers()
            self._update_workers(loads)
            if not self._usable:
                if loop.time() >= until:
                    raise ConnectionLost(_no_workers(loads))
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
        now = asyncio.get_running_loop().time()
        self._refusing = {place: (until, why) for place, (until, why) in self._refusing.items() if until > now}
        loads = [replace(one, refused=self._refusing.get(one.address, ("", one.refused))[1]) for one in loads]
        self._usable = {load.address: load.threads for load in loads if load.refused == ""}
        for batch in self._batches:
            if batch.workers is not None and not self._usable.keys() & batch.workers and batch.task is not None:
                batch.is_stranded = True
                batch.task.cancel()
        seen = described(loads, {batch.name: [one.order.label for one in batch.members] for batch in self._batches})
        if seen != self._seen and (now >= self._recorded_at + _RECORD_SECONDS or len(seen) != len(self._seen)):
            self._seen, self._recorded_at = seen, now
            if self._events is not None:
                self._events.record(WorkersSeen(workers=seen))

    def _record_loss(self, why: str) -> None:
        self._seen = []
        if self._events is not None:
            self._events.record(WorkersSeen(workers=[], lost=f"{why}; its items are sent again"))

    def _fail_waiting(self, why: str) -> None:
        waiting, self._queue = self._queue, deque()
        for one in waiting:
            one.settle(ClusterAway(why))


def _no_workers(loads: Sequence[WorkerLoad]) -> str:
    """Return why no worker can be used."""
    refused = next((load for load in loads if load.refused), None)
    if refused is None:
        return "the Dask scheduler has no workers; start some with `dask worker`"
    return f"no worker of the Dask scheduler can be used; {refused.name}: {refused.refused}"


class _Supply:
    """Sends a worker the pieces of files that it lacks, in messages of bounded size.

    To each worker, one batch of orders at a time causes a transfer.
    """

    def __init__(self) -> None:
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def send(self, connection: Connection, worker: str, tree: WorkspaceTree, needs: Sequence[str]) -> str:
        """Send the worker what it lacks of `needs`. Returns why that failed.

        Returns empty if it has them. Raises TreeChanged.
        """
        async with self._turns[worker]:
            try:
                message: list[tuple[str, bytes]] = []
                for digest in await connection.lacking(worker, needs):
                    message.append((digest, await asyncio.to_thread(tree.piece, digest)))
                    if sum(len(data) for _, data in message) >= _MESSAGE_BYTES:
                        await connection.put(worker, message)
                        message = []
                if message:
                    await connection.put(worker, message)
            except WorkerDied as died:
                return str(died)
            return ""
