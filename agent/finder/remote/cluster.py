"""The cluster of one run: connect, compare versions, start a local cluster, and connect again after a loss."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from ...config.finder.executor import Executor
from ...protocol import UserError
from ...system import missing_extra
from .connection import Connection, ConnectionLost, WorkerLoad, require_encryption
from .local_cluster import Started
from .order import own_versions

_CONNECT_SECONDS = 5.0
"""Seconds for one attempt to connect."""
_RECONNECT_SECONDS = 30.0
"""Seconds in which a lost scheduler may return before the waiting items fail and are tried again later."""
_START_SECONDS = 120.0
"""Seconds in which a local cluster must have started."""
_END_SECONDS = 5.0
_RETRY_SECONDS = 0.2


def require_dask(executor: Executor) -> None:
    """Raise UserError if Dask is not installed."""
    modules = ("distributed", "cryptography") if executor.address is None else ("distributed",)
    if (missing := missing_extra("dask", *modules)) is not None:
        raise UserError(f"--executor {executor.text}: Dask is not installed; {missing}")


async def check_cluster(executor: Executor, sandbox: bytes | None = None) -> None:
    """Raise UserError if the cluster cannot work: it does not answer, or it has other versions.

    `sandbox`: an encoded `SandboxJob` that each worker must hold.
    """
    require_dask(executor)
    if executor.address is None:
        return
    try:
        connection = await Connection.open(executor, None, _CONNECT_SECONDS)
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
    ours = own_versions()
    for place, theirs in (await connection.versions()).items():
        if place == "the scheduler":  # it does not need rundry
            theirs = msgspec.structs.replace(theirs, rundry=ours.rundry)
        if (why := ours.difference(theirs)) is not None:
            raise UserError(f"--executor {executor.text}: {place} has {why}; install the same version on both")


async def _require_sandboxes(executor: Executor, connection: Connection, sandbox: bytes) -> None:
    """Raise UserError for the first worker whose sandbox does not hold what the runner's holds."""
    for place, why in sorted((await connection.refused(sandbox)).items()):
        if why:
            raise UserError(f"--executor {executor.text}: the worker {place} cannot be used: {why}")


class Cluster:
    """The connection to the cluster, made when it is first needed and again after each loss."""

    def __init__(self, executor: Executor, env: Mapping[str, str], workspace: Path) -> None:
        """`env`: the environment of a local cluster."""
        self._executor, self._env, self._workspace = executor, env, workspace
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

    async def drop(self, connection: Connection) -> None:
        """Close a connection that was lost. The next one is made by `connected`."""
        if self._connection is connection:
            self._connection = None
        await connection.close()

    async def workers(self) -> list[WorkerLoad]:
        """Return the workers of the cluster; empty while there is no connection."""
        return [] if self._connection is None else await self._connection.workers()

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
            connection = await Connection.open(self._executor, self._local, _CONNECT_SECONDS)
        except ConnectionLost:
            await self._end_local()  # a local cluster that does not answer is replaced
            raise
        try:
            await _require_same(self._executor, connection)
        except BaseException:
            await connection.close()
            raise
        return connection

    async def _start_local(self) -> None:
        """Start the local cluster. Raises ConnectionLost."""
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-P", "-m", "rundry.agent.finder.remote.local_cluster"),
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
