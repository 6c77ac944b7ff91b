"""Handlers that work the orders of one job on a worker: items, checks, or calls of reading tools."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Protocol

import msgspec

from ...budget.time_limits import FixedTime
from ...extend.mcp.mcp_servers import no_servers
from ...host.workspace_paths import Workspace
from ...sandbox.command_environment import command_env
from ...sandbox.denied_paths import denied_paths, path_globs
from ...sandbox.hidden_places import HideRules, expand_home
from ...sandbox.sandbox import Sandbox
from ...tools.carry_out import run_reading_tool
from ...tools.tool_context import ToolContext
from ...tools.tool_table import TOOLS
from ...verdict.checks.check_environment import prepared_environment
from ...verdict.checks.run_check import run_check
from ..crawl.crawler import Crawler
from ..workers.command_worker import CommandWorker
from ..workers.python_worker import PythonWorker
from ..workers.worker import Worker, WorkItem
from .order import CheckOrder, Job, ReadOrder, SandboxJob, encode_answer, own_versions

if TYPE_CHECKING:
    from .trees.tree_copies import Copies


class NotHere(Exception):
    """The job cannot be worked on this machine; the message says why."""


class Handler(Protocol):
    """Works the orders of one job."""

    async def answer(self, order: object, tree: str) -> bytes:
        """Return the encoded answer to a decoded order. `tree`: digest of its files. Empty means none."""
        ...

    async def close(self) -> None:
        """End everything that was started."""
        ...


class ItemHandler:
    """Works items with the worker of the search."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    async def answer(self, order: object, tree: str) -> bytes:
        """Return the item's encoded result."""
        item, worker, began = msgspec.convert(order, WorkItem), self._worker, time.monotonic()
        # The runner has admitted a page: robots.txt and the rate hold for all workers together.
        worked = await (worker.work(item) if not isinstance(worker, Crawler) else worker.fetch(item))
        return encode_answer(worked, time.monotonic() - began)

    async def close(self) -> None:
        """End the worker."""
        await self._worker.close()


class CheckHandler:
    """Runs checks in the shared workspace, or each in a copy of the workspace that no other work uses."""

    def __init__(self, job: Job, sandbox: Sandbox, env: Mapping[str, str], copies: Copies) -> None:
        self._job, self._sandbox, self._env, self._copies = job, sandbox, env, copies

    async def answer(self, order: object, tree: str) -> bytes:
        """Return the encoded `CheckResult`."""
        wanted, began = msgspec.convert(order, CheckOrder), time.monotonic()
        async with folder_of_job(self._job, self._copies, tree) as root:
            with prepared_environment(self._sandbox, self._env) as environment:
                result = await run_check(
                    wanted.line,
                    Workspace(root),
                    env=environment.env,
                    timeout=wanted.seconds,
                    sandbox=self._sandbox,
                    access=environment.access,
                    shown_as=Path(self._job.workspace),
                )
        # The runner knows the command line, which may hold bytes that are not UTF-8.
        return encode_answer(msgspec.structs.replace(result, command=""), time.monotonic() - began)

    async def close(self) -> None:
        """Do nothing: no process lives longer than its check."""


class ReadHandler:
    """Runs reading tools in the shared workspace or in a copy, with the person's rules."""

    def __init__(self, job: Job, sandbox: Sandbox, env: Mapping[str, str], copies: Copies) -> None:
        self._job, self._sandbox, self._env, self._copies = job, sandbox, env, copies

    async def answer(self, order: object, tree: str) -> bytes:
        """Return the encoded `ToolResult`."""
        wanted, began = msgspec.convert(order, ReadOrder), time.monotonic()
        kind = TOOLS[wanted.tool].arguments
        rules = _hide_rules(self._job.sandbox) if self._job.sandbox is not None else None
        arguments = msgspec.convert(wanted.arguments, kind)
        async with folder_of_job(self._job, self._copies, tree) as root:
            tools = ToolContext(
                workspace=Workspace(root, private=list(map(Path, self._job.private)), hide_rules=rules),
                env=self._env,
                sandbox=self._sandbox,
                blobs=_NoBlobs(),
                mcp=no_servers(),
                limit=wanted.limit,
                time_limits=FixedTime(wanted.seconds),
                rules=self._job.sandbox.rules if self._job.sandbox is not None else (),
            )
            result = await run_reading_tool(wanted.tool, arguments, tools)
            text = result.text.replace(str(root), self._job.workspace)
        return encode_answer(msgspec.structs.replace(result, text=text), time.monotonic() - began)

    async def close(self) -> None:
        """Do nothing: no process lives longer than its call."""


class _NoBlobs:
    """Refuses to store or load: reading tools keep nothing. Stored outputs are read in the runner."""

    def keep(self, data: bytes) -> NoReturn:
        raise KeyError(len(data))

    def load(self, sha: str) -> NoReturn:
        raise KeyError(sha)


@asynccontextmanager
async def folder_of_job(job: Job, copies: Copies, tree: str) -> AsyncGenerator[Path]:
    """Return the shared workspace, or lend a copy of the tree."""
    if not tree:
        yield Path(job.workspace)
        return
    async with copies.holding(tree) as root:
        yield root


async def make_handler(job: Job, copies: Copies) -> Handler:
    """Return a new handler for the job. Raises NotHere."""
    if (why := job.versions.difference(own_versions())) is not None:
        raise NotHere(f"it has {why}; install the same version on both")
    if job.crawl is not None:
        crawl = job.crawl
        return ItemHandler(
            Crawler(crawl.seeds, include=crawl.include, exclude=crawl.exclude, robots=False, seconds=job.seconds)
        )
    workspace = Path(job.workspace)
    if job.is_shared and not await asyncio.to_thread(workspace.is_dir):
        raise NotHere(f"there is no folder {workspace}; share the workspace with the workers under the same path")
    assert job.sandbox is not None  # only a crawl has none
    sandbox = await sandbox_of(job.sandbox, workspace)
    env = {**command_env(os.environ, provider_key_names=set(job.keys), more=job.named), **job.env}
    if job.checks:
        return CheckHandler(job, sandbox, env, copies)
    if job.reads:
        return ReadHandler(job, sandbox, env, copies)
    if job.command:
        return ItemHandler(
            CommandWorker(job.command, workspace=workspace, env=env, sandbox=sandbox, seconds=job.seconds)
        )
    assert job.function is not None  # the only kind that is left
    return ItemHandler(PythonWorker(job.function, workspace=workspace, env=env, sandbox=sandbox, seconds=job.seconds))


def _hide_rules(job: SandboxJob) -> HideRules:
    return HideRules(
        own=tuple(map(Path, job.own)),
        hide=expand_home(job.hide),
        show=expand_home(job.show),
        denied=lambda root: denied_paths(job.rules, root),
    )


async def sandbox_of(job: SandboxJob, workspace: Path) -> Sandbox:
    """Return the sandbox of this machine. Raises NotHere if it does not hold what the runner's sandbox holds."""
    sandbox = await Sandbox.detect(
        hide_rules=_hide_rules(job),
        network=job.network,
        hosts=job.hosts,
        workspace=workspace,
    )
    if sandbox.kind is None and job.is_required:
        raise NotHere(f"{sandbox.why_none}; the runner has a sandbox, so its workers need one")
    if job.not_held is not None and sandbox.kind is not None:
        await sandbox.probe()
        missing = sandbox.missing(denied=bool(path_globs(job.rules)))
        more = [one.short for one in missing if one.name not in job.not_held]
        if more:
            raise NotHere(f"its sandbox ({sandbox.kind}) does not guarantee what the runner's does: {', '.join(more)}")
    return sandbox
