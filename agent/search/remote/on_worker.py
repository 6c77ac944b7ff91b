"""The side of a Dask worker: work a batch of orders with the same code that the runner has.

Dask calls `work_batch` in its threads. The orders are worked in one event loop for the process, in a thread of its own,
so that connections and child processes are reused from batch to batch.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence

import msgspec

from .handlers import Handler, NotHere, make_handler, sandbox_of
from .order import (
    LARGEST,
    NOT_BEGUN,
    Job,
    SandboxJob,
    WorkerFunctions,
    encode_error,
    join_answers,
    split_orders,
)
from .trees.tree_copies import Copies
from .trees.tree_store import Missing, PieceStore

_LONGEST_BATCH = 2.0
"""Seconds after which a batch begins no further order: they took longer than expected."""
_UNUSED = 60.0
"""Seconds after which the child processes and connections of a search without batches are ended."""
_CANCELLED = 1_000
"""Cancelled batches that are remembered, in case one begins later."""


def work_batch(job: bytes, orders: bytes, batch: str, tree: str) -> bytes:
    """Return the results of the orders. Never raises: Dask would print the arguments into the log of the worker.

    `tree`: digest of the files that they need. Empty means none, or the worker shares the workspace.
    """
    from distributed import get_worker  # only here: Dask has imported it in this process

    order_loop, by = OrderLoop.of_process(), str(get_worker().address)
    return asyncio.run_coroutine_threadsafe(order_loop.work(job, orders, batch, tree, by), order_loop.loop).result()


def cancel_batches(batches: Sequence[str]) -> None:
    """End the orders of these batches, with all that they started, if they are worked here."""
    order_loop = OrderLoop.of_process()
    asyncio.run_coroutine_threadsafe(order_loop.cancel(batches), order_loop.loop).result(5.0)


def lacking_pieces(digests: Sequence[str]) -> list[str]:
    """Return which of these pieces this process lacks."""
    return OrderLoop.of_process().store.lacking(digests)


def put_pieces(pieces: Sequence[tuple[str, bytes]]) -> None:
    """Store pieces. Raises ValueError if one does not have its digest."""
    store = OrderLoop.of_process().store
    for digest, data in pieces:
        store.put(digest, data)


def check_sandbox(sandbox: bytes) -> str:
    """Return why the sandbox of this machine cannot be used for an encoded `SandboxJob`; empty if it can."""
    order_loop = OrderLoop.of_process()
    return asyncio.run_coroutine_threadsafe(order_loop.refused(sandbox), order_loop.loop).result()


WORKER_FUNCTIONS = WorkerFunctions(
    work=work_batch, cancel=cancel_batches, lacking=lacking_pieces, put=put_pieces, check_sandbox=check_sandbox
)
"""The functions of this module that a connection calls on a worker."""


class OrderLoop:
    """The event loop in which this process works orders; it runs in its own thread."""

    _instance: OrderLoop | None = None
    _lock = threading.Lock()

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.store = PieceStore()
        self._copies = Copies(self.store)
        self._handlers: dict[bytes, asyncio.Future[Handler]] = {}
        self._ends: dict[bytes, asyncio.TimerHandle] = {}
        self._batches: dict[str, asyncio.Task[bytes]] = {}
        self._cancelled: OrderedDict[str, None] = OrderedDict()
        threading.Thread(target=self.loop.run_forever, name="rundry-orders", daemon=True).start()

    @classmethod
    def of_process(cls) -> OrderLoop:
        """Return the event loop of this process for orders, and start it if necessary."""
        with cls._lock:
            if cls._instance is None:
                cls._instance = cls()
            return cls._instance

    async def work(self, job: bytes, data: bytes, batch: str, tree: str, by: str) -> bytes:
        """Return the results of the orders. Cancelled batches return what was worked."""
        orders = split_orders(data)
        if batch in self._cancelled:
            return join_answers(by, [NOT_BEGUN] * len(orders))
        task = self._batches[batch] = asyncio.create_task(self._work(job, orders, tree, by))
        try:
            await asyncio.wait([task])
        finally:
            del self._batches[batch]
            self._keep_for_a_while(job)
        return join_answers(by, [NOT_BEGUN] * len(orders)) if task.cancelled() else task.result()

    async def cancel(self, batches: Sequence[str]) -> None:
        """Cancel these batches, and wait until what they started has ended."""
        self._cancelled.update(dict.fromkeys(batches))
        while len(self._cancelled) > _CANCELLED:
            self._cancelled.popitem(last=False)
        tasks = [task for name in batches if (task := self._batches.get(name)) is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def refused(self, sandbox: bytes) -> str:
        """Return why the sandbox of this machine cannot be used; empty if it can."""
        try:
            await sandbox_of(msgspec.json.decode(sandbox, type=SandboxJob), self.store.folder)
        except NotHere as why:
            return str(why)
        return ""

    async def _work(self, job: bytes, orders: Sequence[object], tree: str, by: str) -> bytes:
        try:
            handler = await self._handler_of(job)
            needs = await asyncio.to_thread(self.store.needs, tree) if tree else []
        except NotHere as why:
            return join_answers(by, [NOT_BEGUN] * len(orders), refuses=str(why))
        except (Missing, ValueError) as why:
            return join_answers(by, [encode_error(f"worker {by}: {why}")] * len(orders))
        if needs:
            return join_answers(by, [NOT_BEGUN] * len(orders), needs)
        answers: list[bytes] = []
        began, size = time.monotonic(), 0
        for order in orders:
            if answers and (time.monotonic() - began > _LONGEST_BATCH or size > LARGEST):
                break
            try:
                answers.append(await handler.answer(order, tree))
            except Exception as error:  # noqa: BLE001 - a fault of ours must reach the journal as a failure of the order
                answers.append(encode_error(f"worker {by}: {type(error).__name__}: {error}"))
            size += len(answers[-1])
        return join_answers(by, [*answers, *[NOT_BEGUN] * (len(orders) - len(answers))])

    async def _handler_of(self, job: bytes) -> Handler:
        """Return the handler for the job, the same one for all batches. Raises NotHere."""
        if (timer := self._ends.pop(job, None)) is not None:
            timer.cancel()
        making = self._handlers.get(job)
        if making is None:
            made = make_handler(msgspec.json.decode(job, type=Job), self._copies)
            making = self._handlers[job] = asyncio.ensure_future(made)
        try:
            return await asyncio.shield(making)
        except NotHere:
            self._handlers.pop(job, None)  # the next batch looks again: the folder may be mounted by then
            raise

    def _keep_for_a_while(self, job: bytes) -> None:
        """End the handler of the job if no batch comes for a while: its runner may have been killed."""
        if (timer := self._ends.pop(job, None)) is not None:
            timer.cancel()
        self._ends[job] = self.loop.call_later(_UNUSED, lambda: self.loop.create_task(self._close(job)))

    async def _close(self, job: bytes) -> None:
        if self._batches:  # it may be one of this job
            self._keep_for_a_while(job)
            return
        self._ends.pop(job, None)
        if (making := self._handlers.pop(job, None)) is not None:
            await (await making).close()
