"""Assemble the worker that sends the items of a search to a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Iterable
from fnmatch import fnmatchcase

import msgspec

from ...config import config_file
from ...config.finder.executor import read_executor
from ...protocol import ClusterWorker, FinderSpec, UserError, WorkersSeen
from ...step import RunContext
from ..crawl import Crawler
from .cluster import Cluster
from .order import CrawlJob, Job, SandboxJob, own_versions
from .remote_worker import RemoteWorker


def remote_worker(
    ctx: RunContext, spec: FinderSpec, *, crawler: Crawler | None, provider_key_names: Iterable[str]
) -> RemoteWorker:
    """Return the worker for a search with an executor. Raises UserError if the executor cannot be parsed.

    `crawler`: keeps robots.txt and the rate of a crawl in the runner; None: the items need a command or a function.
    """
    executor = read_executor(spec.executor or "")
    job = _page_job(ctx, spec, crawler) if crawler is not None else _command_job(ctx, spec, provider_key_names)

    def seen(workers: list[ClusterWorker]) -> None:
        ctx.events.record(WorkersSeen(workers=workers))

    try:
        encoded = msgspec.json.encode(job)
    except UnicodeEncodeError:
        raise UserError(f"--executor {executor.text}: a path of this search is not UTF-8; rename it") from None
    return RemoteWorker(Cluster(executor, ctx.env, ctx.workspace.root), encoded, crawler, seen)


def _page_job(ctx: RunContext, spec: FinderSpec, crawler: Crawler) -> Job:
    pages = CrawlJob(seeds=[f"{one}/" for one in crawler.origins], include=spec.include, exclude=spec.exclude)
    return Job(versions=own_versions(), workspace=str(ctx.workspace.root), crawl=pages)


def _command_job(ctx: RunContext, spec: FinderSpec, provider_key_names: Iterable[str]) -> Job:
    assert spec.worker is not None  # without a worker, a model works the items in the runner
    gate = ctx.facts.spec.gate
    named = gate.sandbox.env
    sandbox = SandboxJob(
        is_required=ctx.sandbox.kind is not None,
        network=gate.network,
        hosts=gate.sandbox.hosts,
        own=[str(ctx.journal.path.parent), str(config_file(os.environ).parent)],
        hide=gate.sandbox.hide,
        show=gate.sandbox.show,
        rules=list(ctx.facts.rules),
    )
    return Job(
        versions=own_versions(),
        workspace=str(ctx.workspace.root),
        seconds=spec.worker.timeout,
        command=spec.worker.command,
        function=spec.worker.python,
        sandbox=sandbox,
        keys=sorted(provider_key_names),
        named=named,
        env={name: value for name, value in ctx.env.items() if any(fnmatchcase(name, one) for one in named)},
    )
