"""Send the items, checks and reading tools of a search to a Dask cluster.

Frontier, gate, budget, retries and journal stay in the runner.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...protocol import FinderSpec, UserError
from ...settings.search.executor import Executor, read_executor
from ...verdict.checks.run_check import CheckResult
from ..checking import ChecksUnavailable
from ..workers.worker import ItemResult, WorkItem
from .batch_pool import BatchPool
from .batches import ClusterAway, NotWorked, WorkerOrder
from .cluster import Cluster
from .order import CheckOrder, CrawlJob, Job, encode_order, own_versions
from .remote_job import RemoteJob, confined_job
from .remote_tools import RemoteTools
from .trees.scan import TreeChanged, TreeReader, TreeTooLarge

if TYPE_CHECKING:
    from ...step.resources.run_context import RunContext
    from ...verdict.checks.check_environment import CheckEnvironment
    from ..crawl.crawler import Crawler
    from .order import WorkerFunctions

_TRIES = 4
"""How often a check is sent that no worker answered, before the run ends with the reason."""
_CHANGES = 10
"""How often the workspace is read for a check if its files change while they are sent."""


def remote_worker(
    ctx: RunContext,
    spec: FinderSpec,
    functions: WorkerFunctions,
    *,
    crawler: Crawler | None,
    provider_key_names: Iterable[str],
) -> RemoteWorker:
    """Return the worker for a search with an executor. Raises UserError if the executor cannot be parsed.

    `crawler`: keeps robots.txt and the rate of a crawl in the runner. None means that the items need a command or a
    function.
    """
    executor = read_executor(spec.executor or "")
    job = _page_job(ctx, spec, crawler) if crawler is not None else _command_job(ctx, spec, provider_key_names)
    try:
        encoded = msgspec.json.encode(job)
    except UnicodeEncodeError:
        raise UserError(f"--executor {executor.text}: a path of this search is not UTF-8; rename it") from None
    return RemoteWorker(_pool(ctx, executor, functions), encoded, crawler)


class RemoteWorker:
    """Works items on the cluster."""

    def __init__(self, pool: BatchPool, job: bytes, crawler: Crawler | None = None) -> None:
        """`job`: the encoded `Job`. `crawler`: lets a page through when robots.txt and the rate allow it."""
        self._pool, self._job, self._crawler = pool, job, crawler

    async def work(self, item: WorkItem) -> ItemResult:
        """Return the item's result. Cancelling ends it on its worker."""
        if self._crawler is not None and (early := await self._crawler.admit(item)) is not None:
            return early
        # An item that failed before goes alone: it may be what ends its worker.
        order = WorkerOrder(job=self._job, data=encode_order(item), label=item.value, is_alone=item.attempt > 1)
        try:
            return msgspec.json.decode(await self._pool.work(order), type=ItemResult)
        except NotWorked as why:
            return ItemResult(error=str(why))

    async def close(self) -> None:
        """End all batches and close the cluster. May be called twice."""
        if self._crawler is not None:
            await self._crawler.close()
        await self._pool.close()


def remote_checks(
    ctx: RunContext, spec: FinderSpec, functions: WorkerFunctions, *, provider_key_names: Iterable[str]
) -> RemoteChecks:
    """Return the runner of a migration's checks on an executor. Raises UserError if it cannot be parsed.

    The workers of a local cluster share the workspace. Others get its files.
    """
    executor = read_executor(spec.executor or "")
    job = RemoteJob(ctx, executor, provider_key_names)
    return RemoteChecks(_pool(ctx, executor, functions), job, is_shared=executor.address is None)


class RemoteChecks:
    """Sends checks to the cluster, with the files that a worker lacks if it does not share the workspace."""

    def __init__(self, pool: BatchPool, job: RemoteJob, *, is_shared: bool) -> None:
        self._pool, self._job, self._is_shared = pool, job, is_shared
        self._readers: dict[Path, TreeReader] = {}

    async def run(self, ctx: RunContext, line: str, environment: CheckEnvironment) -> CheckResult:
        """Run a command line on a worker. Raises ChecksUnavailable."""
        job = msgspec.json.encode(self._job.for_checks(ctx))
        data = encode_order(CheckOrder(line, ctx.facts.spec.predicates.timeout))
        tries = changes = 0
        while True:
            try:
                tree = None if self._is_shared else await self._reader(ctx).current()
                order = WorkerOrder(job=job, data=data, label=line, is_alone=tries > 0, tree=tree)
                result = msgspec.json.decode(await self._pool.work(order), type=CheckResult)
                return msgspec.structs.replace(result, command=line)
            except NotWorked as why:
                tries += 1
                if tries == _TRIES or isinstance(why, ClusterAway):
                    raise ChecksUnavailable(f"the check of `{line}` was not run: {why}") from None
            except TreeChanged as why:
                changes += 1
                if changes == _CHANGES:
                    raise ChecksUnavailable(f"the files change all the time while they are sent: {why}") from None
            except TreeTooLarge as why:
                raise ChecksUnavailable(str(why)) from None

    async def close(self) -> None:
        """End all checks and close the cluster. May be called twice."""
        await self._pool.close()

    def _reader(self, ctx: RunContext) -> TreeReader:
        root = ctx.workspace.root
        if root not in self._readers:
            self._readers[root] = TreeReader(ctx.workspace, ctx.sandbox)
        return self._readers[root]


def remote_tools(
    ctx: RunContext, spec: FinderSpec, functions: WorkerFunctions, *, provider_key_names: Iterable[str]
) -> RemoteTools:
    """Return the runner of a search's reading tools on the executor.

    Raises UserError if the executor cannot be parsed.
    """
    executor = read_executor(spec.executor or "")
    reader = None if executor.address is None else TreeReader(ctx.workspace, ctx.sandbox, ctx.facts)
    return RemoteTools(_pool(ctx, executor, functions), RemoteJob(ctx, executor, provider_key_names), reader)


def _pool(ctx: RunContext, executor: Executor, functions: WorkerFunctions) -> BatchPool:
    return BatchPool(Cluster(executor, functions, ctx.env, ctx.workspace.root), ctx.events)


def _page_job(ctx: RunContext, spec: FinderSpec, crawler: Crawler) -> Job:
    pages = CrawlJob(seeds=[f"{one}/" for one in crawler.origins], include=spec.include, exclude=spec.exclude)
    return Job(versions=own_versions(), workspace=str(ctx.workspace.root), crawl=pages)


def _command_job(ctx: RunContext, spec: FinderSpec, provider_key_names: Iterable[str]) -> Job:
    assert spec.worker is not None  # without a worker, a model works the items in the runner
    job = confined_job(ctx, provider_key_names)
    worker = spec.worker
    return msgspec.structs.replace(job, seconds=worker.timeout, command=worker.command, function=worker.python)
