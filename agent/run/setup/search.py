"""Assemble the search of an until-dry run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...finder.finder import Finder
from ...finder.workers import Worker
from ...model import NO_MODEL
from ...protocol import FinderSpec, RunSpec
from ...step import RunContext
from ..item_trees import Worktrees
from .inputs import ProcessContext
from .surroundings import key_names

if TYPE_CHECKING:
    from ...finder.crawl import Crawler


def search_of(ctx: RunContext, process: ProcessContext) -> Finder | None:
    """Return the search, or None for other loops."""
    spec = ctx.facts.spec
    if not spec.loop.traits.has_search or spec.finder is None:
        return None
    has_model = ctx.models.of_run.name != NO_MODEL
    trees = Worktrees(ctx, spec.finder.parallel) if spec.finder.parallel > 1 else None
    worker = worker_of(ctx, spec.finder)
    return Finder(ctx, spec.finder, worker, has_model=has_model, open_model=process.open_model, trees=trees)


def worker_of(ctx: RunContext, spec: FinderSpec) -> Worker | None:
    """Return the worker for items, or None if a model works them."""
    if spec.traits.fetches_pages:
        from ...finder.crawl import Crawler

        crawler = Crawler(
            [seed.value for seed in spec.seeds],
            rate=spec.rate,
            include=spec.include,
            exclude=spec.exclude,
            robots=spec.robots,
            clock=ctx.clock,
        )
        return crawler if spec.executor is None else _remote(ctx, spec, crawler)
    if spec.worker is None:
        return None
    if spec.executor is not None:
        return _remote(ctx, spec, None)
    if spec.worker.python is not None:
        from ...finder.workers.python import PythonWorker

        return PythonWorker(
            spec.worker.python,
            workspace=ctx.workspace.root,
            env=ctx.env,
            sandbox=ctx.sandbox,
            seconds=spec.worker.timeout,
        )
    from ...finder.workers.command import CommandWorker

    return CommandWorker(
        spec.worker.command,
        workspace=ctx.workspace.root,
        env=ctx.env,
        sandbox=ctx.sandbox,
        seconds=spec.worker.timeout,
    )


async def check_executor(spec: RunSpec) -> None:
    """Check the Dask cluster of a search. Raises UserError."""
    if spec.finder is None or spec.finder.executor is None:
        return
    from ...config.finder.executor import read_executor
    from ...finder.remote.cluster import check_cluster

    await check_cluster(read_executor(spec.finder.executor))


def _remote(ctx: RunContext, spec: FinderSpec, crawler: Crawler | None) -> Worker:
    """Return the worker that sends the items to a Dask cluster."""
    from ...finder.remote.assemble import remote_worker

    names = key_names(ctx.facts.spec.model, ctx.facts.model_spec)
    return remote_worker(ctx, spec, crawler=crawler, provider_key_names=names)
