"""The side of a Dask worker: work a batch of items with the same workers that the runner has.

Dask calls `work_batch` in its threads. The items are worked in one event loop for the process, in a thread of its own,
so that connections and child processes are reused from batch to batch.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ...workspace import HideRules, Sandbox, command_env, denied_paths, expand_home
from ..crawl import Crawler
from ..workers import CommandWorker, ItemResult, PythonWorker, Worker, WorkItem
from .order import LARGEST, NOT_BEGUN, Job, SandboxJob, decode_items, encode_answer, join_answers, own_versions

_LONGEST_BATCH = 2.0
"""Seconds after which a batch begins no further item: items took longer than expected."""
_UNUSED = 60.0
"""Seconds after which the child processes and connections of a search without batches are ended."""
_CANCELLED = 1_000
"""Cancelled batches that are remembered, in case one begins later."""


class _NotHere(Exception):
    """The job cannot be worked on this machine; the message says why."""


def work_batch(job: bytes, items: bytes, batch: str) -> bytes:
    """Return the results of the items. Never raises: Dask would print the arguments into the log of the worker."""
    from distributed import get_worker  # only here: Dask has imported it in this process

    item_loop, by = ItemLoop.of_process(), str(get_worker().address)
    return asyncio.run_coroutine_threadsafe(item_loop.work(job, items, batch, by), item_loop.loop).result()


def cancel_batches(batches: Sequence[str]) -> None:
    """End the items of these batches, with all that they started, if they are worked here."""
    item_loop = ItemLoop.of_process()
    asyncio.run_coroutine_threadsafe(item_loop.cancel(batches), item_loop.loop).result(5.0)


class ItemLoop:
    """The event loop in which this process works items; it runs in its own thread."""

    _instance: ItemLoop | None = None
    _lock = threading.Lock()

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._workers: dict[bytes, asyncio.Future[Worker]] = {}
        self._ends: dict[bytes, asyncio.TimerHandle] = {}
        self._batches: dict[str, asyncio.Task[bytes]] = {}
        self._cancelled: OrderedDict[str, None] = OrderedDict()
        threading.Thread(target=self.loop.run_forever, name="rundry-items", daemon=True).start()

    @classmethod
    def of_process(cls) -> ItemLoop:
        """Return the event loop of this process for items, and start it if necessary."""
        with cls._lock:
            if cls._instance is None:
                cls._instance = cls()
            return cls._instance

    async def work(self, job: bytes, items: bytes, batch: str, by: str) -> bytes:
        """Return the results of the items. Cancelled batches return what was worked."""
        orders = decode_items(items)
        if batch in self._cancelled:
            return join_answers(by, [NOT_BEGUN] * len(orders))
        task = self._batches[batch] = asyncio.create_task(self._work(job, orders, by))
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

    async def _work(self, job: bytes, orders: Sequence[WorkItem], by: str) -> bytes:
        try:
            worker = await self._worker_of(job)
        except _NotHere as why:
            return join_answers(by, [encode_answer(ItemResult(error=f"worker {by}: {why}"), 0.0)] * len(orders))
        answers: list[bytes] = []
        began, size = time.monotonic(), 0
        for order in orders:
            if answers and (time.monotonic() - began > _LONGEST_BATCH or size > LARGEST):
                break
            at = time.monotonic()
            try:  # the runner has admitted a page: robots.txt and the rate hold for all workers together
                worked = await (worker.work(order) if not isinstance(worker, Crawler) else worker.fetch(order))
            except Exception as error:  # noqa: BLE001 - a fault of ours must reach the journal as a failure of the item
                worked = ItemResult(error=f"worker {by}: {type(error).__name__}: {error}")
            answers.append(encode_answer(worked, time.monotonic() - at))
            size += len(answers[-1])
        return join_answers(by, [*answers, *[NOT_BEGUN] * (len(orders) - len(answers))])

    async def _worker_of(self, job: bytes) -> Worker:
        """Return the worker for the job, the same one for all batches. Raises _NotHere."""
        if (timer := self._ends.pop(job, None)) is not None:
            timer.cancel()
        making = self._workers.get(job)
        if making is None:
            making = self._workers[job] = asyncio.ensure_future(_make(msgspec.json.decode(job, type=Job)))
        try:
            return await asyncio.shield(making)
        except _NotHere:
            self._workers.pop(job, None)  # the next batch looks again: the folder may be mounted by then
            raise

    def _keep_for_a_while(self, job: bytes) -> None:
        """End the worker of the job if no batch comes for a while: its runner may have been killed."""
        if (timer := self._ends.pop(job, None)) is not None:
            timer.cancel()
        self._ends[job] = self.loop.call_later(_UNUSED, lambda: self.loop.create_task(self._close(job)))

    async def _close(self, job: bytes) -> None:
        if self._batches:  # it may be one of this job
            self._keep_for_a_while(job)
            return
        self._ends.pop(job, None)
        if (making := self._workers.pop(job, None)) is not None:
            await (await making).close()


async def _make(job: Job) -> Worker:
    """Return a new worker for the job. Raises _NotHere."""
    if (why := job.versions.difference(own_versions())) is not None:
        raise _NotHere(f"it has {why}; install the same version on both")
    if job.crawl is not None:
        crawl = job.crawl
        return Crawler(crawl.seeds, include=crawl.include, exclude=crawl.exclude, robots=False, seconds=job.seconds)
    workspace = Path(job.workspace)
    if not await asyncio.to_thread(workspace.is_dir):
        raise _NotHere(f"there is no folder {workspace}; share the workspace with the workers under the same path")
    assert job.sandbox is not None  # only a crawl has none
    sandbox = await _sandbox(job.sandbox, workspace)
    env = {**command_env(os.environ, provider_key_names=set(job.keys), more=job.named), **job.env}
    if job.command:
        return CommandWorker(job.command, workspace=workspace, env=env, sandbox=sandbox, seconds=job.seconds)
    assert job.function is not None  # the only kind that is left
    return PythonWorker(job.function, workspace=workspace, env=env, sandbox=sandbox, seconds=job.seconds)


async def _sandbox(job: SandboxJob, workspace: Path) -> Sandbox:
    sandbox = await Sandbox.detect(
        hide_rules=HideRules(
            own=tuple(map(Path, job.own)),
            hide=expand_home(job.hide),
            show=expand_home(job.show),
            denied=lambda root: denied_paths(job.rules, root),
        ),
        network=job.network,
        hosts=job.hosts,
        workspace=workspace,
    )
    if sandbox.kind is None and job.is_required:
        raise _NotHere(f"{sandbox.why_none}; the runner has a sandbox, so its workers need one")
    return sandbox
