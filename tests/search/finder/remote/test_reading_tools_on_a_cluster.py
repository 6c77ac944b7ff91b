"""The reading tools of lenses and verifiers on real clusters of several processes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import pytest
from fakes.blobs_in_memory import BlobsInMemory
from fakes.models.model_by_role import report
from fakes.played_events import spec
from fakes.project import git
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import Call, calls

from rundry.agent.budget.time_limits import FixedTime
from rundry.agent.extend.mcp.mcp_servers import no_servers
from rundry.agent.host.workspace_paths import Workspace
from rundry.agent.protocol import GatePolicy, Rule
from rundry.agent.sandbox.sandbox import Sandbox
from rundry.agent.search.remote.batch_pool import BatchPool
from rundry.agent.search.remote.batches import WorkerOrder
from rundry.agent.search.remote.cluster import Cluster
from rundry.agent.search.remote.on_worker import WORKER_FUNCTIONS
from rundry.agent.search.remote.order import Job, SandboxJob, own_versions
from rundry.agent.search.remote.remote_job import RemoteJob
from rundry.agent.search.remote.remote_tools import RemoteTools
from rundry.agent.search.remote.trees.scan import TreeReader
from rundry.agent.settings.search.executor import read_executor
from rundry.agent.state.facts.run_facts import RunFacts
from rundry.agent.tools.carry_out import run_reading_tool
from rundry.agent.tools.tool_context import ToolContext
from rundry.agent.tools.tool_result import ToolResult
from rundry.agent.tools.tool_table import TOOLS

from .dask_cluster import DaskCluster

DENIED = Rule(verdict="deny", path="closed/**")
CALLS: Sequence[tuple[str, Mapping[str, object]]] = [
    ("read_file", {"path": "a.txt"}),
    ("read_file", {"path": "sub/long.txt", "start_line": 3, "end_line": 5}),
    ("read_file", {"path": "link"}),
    ("read_file", {"path": "a.tx"}),
    ("read_file", {"path": "sub"}),
    ("read_file", {"path": "binary"}),
    ("read_file", {"path": "../outside.txt"}),
    ("read_file", {"path": "/etc/passwd"}),
    ("read_file", {"path": "leaving"}),
    ("list_files", {}),
    ("list_files", {"path": "sub", "pattern": "*.txt"}),
    ("list_files", {"path": ".."}),
    ("search", {"pattern": "need[l]e"}),
    ("search", {"pattern": "needle", "path": "sub"}),
    ("search", {"pattern": "("}),
    ("search", {"pattern": "x", "path": "../outside.txt"}),
]
"""Calls that workers answer."""
ONLY_HERE: Sequence[tuple[str, Mapping[str, object]]] = [
    ("read_file", {"path": "closed/secret.txt"}),
    ("read_file", {"path": ".env"}),
    ("read_file", {"path": "ignored.log"}),
    ("read_file", {"path": "output:abc"}),
]
"""Calls about what is not sent."""


class CountingPool(BatchPool):
    """Remembers what was sent."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self.labels: list[str] = []

    async def work(self, order: WorkerOrder) -> msgspec.Raw:
        self.labels.append(order.label)
        return await super().work(order)


class FixedJob(RemoteJob):
    """A job that does not change."""

    def __init__(self, job: Job) -> None:
        self._fixed = job

    def for_reading(self) -> Job:
        return self._fixed


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    for name in ("sub", "closed"):
        (folder / name).mkdir(parents=True)
    (folder / "a.txt").write_text("one needle\ntwo\n")
    (folder / "sub" / "long.txt").write_text("".join(f"line {n} needle\n" for n in range(9)))
    (folder / "binary").write_bytes(b"\0\1")
    (folder / "closed" / "secret.txt").write_text("a denied needle\n")
    (folder / ".env").write_text("TOKEN=needle\n")
    (folder / ".gitignore").write_text("*.log\n")
    (folder / "ignored.log").write_text("ignored\n")
    (tmp_path / "outside.txt").write_text("outside needle\n")
    (folder / "link").symlink_to("a.txt")
    (folder / "leaving").symlink_to("../outside.txt")
    git(folder, "init", "-q")
    return folder


async def context(project: Path) -> ToolContext:
    sandbox = await Sandbox.detect(workspace=project)
    env = {"PATH": "/usr/bin:/bin"}
    return ToolContext(Workspace(project), env, sandbox, blobs=BlobsInMemory(), mcp=no_servers(), rules=[DENIED])


def tools_of(executor: str, project: Path, tools: ToolContext) -> tuple[RemoteTools, CountingPool]:
    is_shared = read_executor(executor).address is None
    sandbox = SandboxJob(
        is_required=True, network=False, hosts=[], own=[], hide=[], show=[], rules=[DENIED], not_held=None
    )
    job = Job(versions=own_versions(), workspace=str(project), is_shared=is_shared, reads=True, sandbox=sandbox)
    pool = CountingPool(Cluster(read_executor(executor), WORKER_FUNCTIONS, {"PATH": "/usr/bin:/bin"}, project))
    reader = TreeReader(tools.workspace, None, RunFacts(spec(gate=GatePolicy(rules=[DENIED]))))
    return RemoteTools(pool, FixedJob(job), None if is_shared else reader), pool


async def call(tools: ToolContext, name: str, arguments: Mapping[str, object]) -> ToolResult:
    kind = TOOLS[name].arguments
    return await run_reading_tool(name, msgspec.convert(dict(arguments), kind), tools)


def test_calls_answer_on_workers_as_they_do_here_and_what_is_not_sent_is_read_here(project: Path, cluster: DaskCluster):
    async def work() -> None:
        here, there = await context(project), await context(project)
        there.elsewhere, pool = tools_of(cluster.executor, project, there)
        try:
            for name, arguments in CALLS:
                before = len(pool.labels)
                ours, theirs = await call(here, name, arguments), await call(there, name, arguments)
                if name == "search":
                    assert (ours.ok, ours.summary) == (theirs.ok, theirs.summary), (name, arguments)
                    assert theirs.text.split("\n[")[0] == ours.text.split("\n[")[0]
                else:
                    assert theirs == ours, (name, arguments)
                assert len(pool.labels) == before + 1, (name, arguments)
                assert "denied needle" not in theirs.text and "outside needle" not in theirs.text
            sent = len(pool.labels)
            for name, arguments in ONLY_HERE:
                assert await call(there, name, arguments) == await call(here, name, arguments)
            assert len(pool.labels) == sent
        finally:
            await there.elsewhere.close()

    asyncio.run(work())


def test_a_worker_itself_keeps_the_rules_and_the_border_of_the_workspace(project: Path):
    async def work() -> None:
        there = await context(project)
        remote, _ = tools_of("dask:1x2", project, there)
        there.elsewhere = remote
        try:
            for path, words in (
                ("closed/secret.txt", "refused by the policy"),
                (".env", "usually holds secrets"),
                ("../outside.txt", f"outside of the workspace {project}"),
                ("leaving", f"outside of the workspace {project}"),
            ):
                arguments = msgspec.convert({"path": path}, TOOLS["read_file"].arguments)
                result = await remote.read("read_file", arguments, there)  # past the checks of the runner
                assert result is not None
                assert (result.ok, words in result.text) == (False, True), result
            found = await call(there, "search", {"pattern": "needle"})
            assert "denied needle" not in found.text
            assert "a.txt:1: one needle" in found.text
        finally:
            await remote.close()

    asyncio.run(work())


@pytest.mark.long
def test_calls_survive_a_killed_worker_and_a_cluster_that_is_gone(project: Path, cluster: DaskCluster):
    async def work() -> None:
        there = await context(project)
        there.elsewhere, _ = tools_of(cluster.executor, project, there)
        there.time_limits = FixedTime(10.0)
        try:
            first = await call(there, "read_file", {"path": "a.txt"})
            cluster.kill_worker(0)
            (project / "a.txt").write_text("changed needle\n")
            second = await call(there, "read_file", {"path": "a.txt"})
            assert "one needle" in first.text and "changed needle" in second.text
            cluster.close()
            third = await call(there, "read_file", {"path": "a.txt"})
            assert third == second
        finally:
            await there.elsewhere.close()

    asyncio.run(work())


def test_a_lens_reads_on_the_workers(home: Home, project: Path, cluster: DaskCluster):
    (project / "r.toml").write_text(
        'task = "what is old"\ncritic = false\n[refute]\nsceptics = 0\n[[lens]]\nname = "survey"\nprompt = "look"\n'
    )
    looks = calls(
        *(Call("read_file", {"path": path}) for path in ("a.txt", "../outside.txt", ".env")),
        Call("search", {"pattern": "needle", "path": "sub"}),
    )
    with ScriptedServer([looks], then=report()) as server:
        argv = ["find", "r.toml", "--model", "fake", "--api-base", server.base_url, "--headless", "--json"]
        ran = home.run(*argv, "--executor", cluster.executor, cwd=project)
    assert ran.exit_code == 0, ran
    assert len(ran.of("workers_seen")[0]["workers"]) in (1, 2), "a worker answered"
    results = "\n".join(ran.results())
    assert "1| one needle" in results
    assert f"../outside.txt: outside of the workspace {project}" in results
    assert ".env: refused, it usually holds secrets" in results
    assert "sub/long.txt:9: line 8 needle" in results
