"""The cluster of one run: connect, compare versions, start a local cluster, and connect again after a loss."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...host.extras import missing_extra
from ...protocol import UserError
from .cluster_connection import Connection, ConnectionLost, require_encryption
from .local_cluster import Started
from .order import Versions, own_versions

if TYPE_CHECKING:
    from ...settings.search.executor import Executor
    from .loads import WorkerLoad
    from .order import WorkerFunctions

_CONNECT_SECONDS = 5.0
"""Seconds for one attempt to connect."""
_RECONNECT_SECONDS = 30.0
"""Seconds in which a lost scheduler may return before the waiting items fail and are tried again later."""
_START_SECONDS = 120.0
"""Seconds in which a local cluster must have started."""
_END_SECONDS = 5.0
_RETRY_SECONDS = 0.2
_SCHEDULER = "the scheduler"
"""The place of the scheduler among the versions."""


def require_dask(executor: Executor) -> None:
    """Raise UserError if Dask is not installed."""
    modules = ("distributed", "cryptography") if executor.address is None else ("distributed",)
    if (missing := missing_extra("dask", *modules)) is not None:
        raise UserError(f"--executor {executor.text}: Dask is not installed; {missing}")


async def check_cluster(executor: Executor, functions: WorkerFunctions, sandbox: bytes | None = None) -> None:
    """Raise UserError if the cluster cannot work: it does not answer, or it has other versions.

    `sandbox`: an encoded `SandboxJob` that each worker must hold.
    """
    require_dask(executor)
    if executor.address is None:
        return
    try:
        connection = await Connection.open(executor, None, functions, _CONNECT_SECONDS)
        try:
            await _require_same(executor, connection)
            if sandbox is not None:
                await _require_sandboxes(executor, connection, sandbox)
        finally:
            await connection.close()
    except ConnectionLost as lost:
        fix = "start one with `dask scheduler`, or correct the address"
        if executor.is_encrypted:
            fix = "start one with `dask scheduler` and TLS, or correct the address or the certificates"
        raise UserError(f"--executor: {lost}; {fix}") from None


async def _require_same(executor: Executor, connection: Connection) -> None:
    """Raise UserError for the first difference of versions, and for workers without the TLS that they need."""
    require_encryption(executor, await connection.workers())
    for place, theirs in (await connection.versions()).items():
        _require_version(executor, place, theirs)


def _require_version(executor: Executor, place: str, theirs: Versions) -> None:
    """Raise UserError if the scheduler or a worker has other versions than this process."""
    ours = own_versions()
    if place == _SCHEDULER:  # it does not need rundry
        theirs = msgspec.structs.replace(theirs, rundry=ours.rundry)
    if (why := ours.difference(theirs)) is not None:
        raise UserError(f"--executor {executor.text}: {place} has {why}; install the same version on both")


async def _require_sandboxes(executor: Executor, connection: Connection, sandbox: bytes) -> None:
    """Raise UserError for the first worker whose sandbox does not hold what the runner's holds."""
    for place, why in sorted((await connection.refused(sandbox)).items()):
        if why:
            raise UserError(f"--executor {executor.text}: the worker {place} cannot be used: {why}")


class _Joined:
    """Compares the workers that join during the run with the runner, each of them once."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._why: dict[str, str] = {}
        """Why a worker is refused, by address, or empty if it is not."""

    async def compared(self, connection: Connection, loads: Sequence[WorkerLoad]) -> list[WorkerLoad]:
        """Return the workers with the reason why one is not used. Raises ConnectionLost."""
        if self._executor.address is None:
            return list(loads)  # no other worker can join a cluster that the run started
        if any(load.address not in self._why for load in loads):
            theirs = await connection.versions()
            for load in loads:
                if load.address not in self._why and load.address in theirs:
                    self._why[load.address] = self._difference(load, theirs[load.address])
        return [msgspec.structs.replace(load, refused=self._why.get(load.address)) for load in loads]

    def _difference(self, load: WorkerLoad, theirs: Versions) -> str:
        try:
            require_encryption(self._executor, [load])
            _require_version(self._executor, "it", theirs)
        except UserError as why:
            return str(why).partition(": ")[2]
        return ""


class Cluster:
    """The connection to the cluster, made when it is first needed and again after each loss."""

    def __init__(self, executor: Executor, functions: WorkerFunctions, env: Mapping[str, str], workspace: Path) -> None:
        """`env`: the environment of a local cluster."""
        self._executor, self._functions, self._env, self._workspace = executor, functions, env, workspace
        self._joined = _Joined(executor)
        self._connection: Connection | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._local: Started | None = None

    async def connected(self) -> Connection:
        """Return the connection; wait a while for a scheduler that is away. Raises ConnectionLost, UserError."""
        if self._connection is None:
            loop = asyncio.get_running_loop()
            until = loop.time() + _RECONNECT_SECONDS
            while True:
                try:
                    self._connection = await self._open()
                    break
                except ConnectionLost:
                    if loop.time() >= until:
                        raise
                    await asyncio.sleep(_RETRY_SECONDS)
        return self._connection

    async def drop(self, connection: Connection) -> bool:
        """Close a connection that was lost. The next one is made by `connected`.

        Returns whether it was still in use: several batches notice the same loss.
        """
        was_in_use = self._connection is connection
        if was_in_use:
            self._connection = None
        await connection.close()
        return was_in_use

    @property
    def is_open(self) -> bool:
        """Whether other workers can join: it is not a local cluster of this run."""
        return self._executor.address is not None

    async def workers(self) -> list[WorkerLoad]:
        """Return the workers of the cluster; empty while there is no connection. Raises ConnectionLost."""
        if (connection := self._connection) is None:
            return []
        return await self._joined.compared(connection, await connection.workers())

    async def close(self) -> None:
        """Close the connection, and end the local cluster. May be called twice."""
        if (connection := self._connection) is not None:
            self._connection = None
            await connection.close()
        await self._end_local()

    async def _open(self) -> Connection:
        if self._executor.address is None and (self._process is None or self._process.returncode is not None):
            await self._start_local()
        try:
            connection = await Connection.open(self._executor, self._local, self._functions, _CONNECT_SECONDS)
        except ConnectionLost:
            await self._end_local()  # a local cluster that does not answer is replaced
            raise
        try:
            _require_version(self._executor, _SCHEDULER, (await connection.versions())[_SCHEDULER])
        except BaseException:
            await connection.close()
            raise
        return connection

    async def _start_local(self) -> None:
        """Start the local cluster. Raises ConnectionLost."""
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-P", "-m", "rundry.agent.search.remote.local_cluster"),
            *(str(self._executor.workers), str(self._executor.threads)),
            cwd=self._workspace,
            env=self._env,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(_START_SECONDS):
                line = await self._process.stdout.readline()
            self._local = msgspec.json.decode(line, type=Started)
        except (TimeoutError, ValueError) as error:
            await self._end_local()
            raise ConnectionLost(f"the local Dask cluster did not start ({type(error).__name__})") from None
        except BaseException:
            await self._end_local()
            raise

    async def _end_local(self) -> None:
        process, self._process, self._local = self._process, None, None
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            async with asyncio.timeout(_END_SECONDS):
                await process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
