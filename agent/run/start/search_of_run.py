"""Assemble the search of an until-dry run."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...host.workspace_paths import Workspace
from ...models.no_model import NO_MODEL
from ...search.finder import Finder
from ..units.item_unit import ItemUnits
from .sandbox_of_run import detect_sandbox
from .variables_of_run import key_names

if TYPE_CHECKING:
    from ...protocol import FinderSpec, RunSpec
    from ...search.checking import CheckRunner
    from ...search.crawl.crawler import Crawler
    from ...search.workers.worker import Worker
    from ...step.resources.run_context import RunContext
    from ..client.start_request import Order


def with_remote_tools(ctx: RunContext, order: Order) -> RunContext:
    """Return the context of a run whose reading tools run on a cluster if its search by models has an executor."""
    spec = on_executor(ctx.facts.spec, order.changes.executor)
    finder = spec.finder
    if finder is None or finder.executor is None or finder.check is not None or not _is_confined_as_here(finder):
        return ctx
    from ...search.remote.assemble_remote import remote_tools
    from ...search.remote.on_worker import WORKER_FUNCTIONS

    keys = key_names(spec.model, ctx.facts.model_spec, spec.web_search)
    tools = replace(ctx.tools, elsewhere=remote_tools(ctx, finder, WORKER_FUNCTIONS, provider_key_names=keys))
    return replace(ctx, tools=tools)


def search_of(ctx: RunContext, order: Order) -> Finder | None:
    """Return the search, or None for other loops."""
    spec = on_executor(ctx.facts.spec, order.changes.executor)
    if not spec.loop.traits.has_search or spec.finder is None:
        return None
    has_model = ctx.models.of_run.name != NO_MODEL
    is_migration = ctx.units is not None and spec.finder.check is not None
    trees = ItemUnits(ctx, ctx.units, max(1, spec.finder.parallel)) if is_migration and ctx.units is not None else None
    worker = worker_of(ctx, spec.finder)
    return Finder(
        ctx,
        spec.finder,
        worker,
        has_model=has_model,
        trees=trees,
        checks=_remote_checks(ctx, spec.finder),
    )


def worker_of(ctx: RunContext, spec: FinderSpec) -> Worker | None:
    """Return the worker for items, or None if a model works them."""
    if spec.traits.fetches_pages:
        from ...search.crawl.crawler import Crawler

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
        from ...search.workers.python_worker import PythonWorker

        return PythonWorker(
            spec.worker.python,
            workspace=ctx.workspace.root,
            env=ctx.env,
            sandbox=ctx.sandbox,
            seconds=spec.worker.timeout,
        )
    from ...search.workers.command_worker import CommandWorker

    return CommandWorker(
        spec.worker.command,
        workspace=ctx.workspace.root,
        env=ctx.env,
        sandbox=ctx.sandbox,
        seconds=spec.worker.timeout,
    )


def on_executor(spec: RunSpec, executor: str | None) -> RunSpec:
    """Return the spec of a search on this Dask cluster. None means on the same one as before."""
    if executor is None or spec.finder is None:
        return spec
    return msgspec.structs.replace(spec, finder=msgspec.structs.replace(spec.finder, executor=executor))


async def check_executor(spec: RunSpec, executor: str | None = None) -> None:
    """Check the Dask cluster of a search. `executor`: another cluster than before. Raises UserError."""
    spec = on_executor(spec, executor)
    if spec.finder is None or spec.finder.executor is None:
        return
    from ...search.remote.cluster import check_cluster, require_dask
    from ...search.remote.on_worker import WORKER_FUNCTIONS
    from ...settings.search.executor import read_executor

    cluster = read_executor(spec.finder.executor)
    require_dask(cluster)
    if not _is_confined_as_here(spec.finder):
        await check_cluster(cluster, WORKER_FUNCTIONS)
        return
    if cluster.address is not None:
        await asyncio.to_thread(_check_size, Path(spec.workspace))
        await check_cluster(cluster, WORKER_FUNCTIONS, await _wanted_sandbox(spec))


def _is_confined_as_here(finder: FinderSpec) -> bool:
    """Return whether the workers run what the runner would run, so that their sandboxes must hold the same."""
    return finder.worker is None and not finder.traits.fetches_pages


def _check_size(root: Path) -> None:
    """Raise UserError if the workspace is too large to be sent to workers."""
    from ...search.remote.trees.scan import TreeReader

    TreeReader(Workspace(root)).read()


async def _wanted_sandbox(spec: RunSpec) -> bytes:
    """Return the encoded `SandboxJob` for the workers of this run."""
    from ...search.remote.remote_job import names_not_held, sandbox_job

    root, runs, gate = Path(spec.workspace), Path(spec.workspace), spec.gate
    sandbox = await detect_sandbox(gate, root, runs)
    await sandbox.probe(root)
    job = sandbox_job(sandbox, gate, gate.rules, runs)
    return msgspec.json.encode(msgspec.structs.replace(job, own=[], not_held=names_not_held(sandbox, gate.rules)))


def _remote_checks(ctx: RunContext, spec: FinderSpec) -> CheckRunner | None:
    """Return what runs the checks of a migration on a Dask cluster, or None."""
    if spec.executor is None or spec.check is None:
        return None
    from ...search.remote.assemble_remote import remote_checks
    from ...search.remote.on_worker import WORKER_FUNCTIONS

    names = key_names(ctx.facts.spec.model, ctx.facts.model_spec, ctx.facts.spec.web_search)
    return remote_checks(ctx, spec, WORKER_FUNCTIONS, provider_key_names=names)


def _remote(ctx: RunContext, spec: FinderSpec, crawler: Crawler | None) -> Worker:
    """Return the worker that sends the items to a Dask cluster."""
    from ...search.remote.assemble_remote import remote_worker
    from ...search.remote.on_worker import WORKER_FUNCTIONS

    names = key_names(ctx.facts.spec.model, ctx.facts.model_spec, ctx.facts.spec.web_search)
    return remote_worker(ctx, spec, WORKER_FUNCTIONS, crawler=crawler, provider_key_names=names)
