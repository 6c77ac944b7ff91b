"""A connection to a Dask scheduler. Only this module and `local_cluster` import Dask in a process of rundry (0.6 s)."""

from __future__ import annotations

import asyncio
import importlib.metadata
import logging
import warnings
from collections.abc import Awaitable, Generator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from ...host.internet import is_this_machine
from ...protocol import UserError
from ...protocol.text.shorten_text import line_cut
from .loads import WorkerLoad
from .order import Versions

if TYPE_CHECKING:
    from ...settings.search.executor import Executor
    from .local_cluster import Started
    from .order import WorkerFunctions

T = TypeVar("T")

_KEY = "rundry-"
_CLOSING = 3.0
"""Seconds that the scheduler and the workers get to answer while the connection is closed or batches are cancelled."""
_ANSWER = 20.0
"""Seconds after which a scheduler that does not answer counts as lost."""
_CERTIFICATES = "DASK_DISTRIBUTED__COMM__TLS__CA_FILE, DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT and ..__CLIENT__KEY"


class ConnectionLost(Exception):
    """The scheduler does not answer, or the connection broke; the message is one line for a person."""


class WorkerDied(Exception):
    """Each Dask worker that worked the batch died; the message is one line for a person."""


class _Future(Protocol):
    """The part of `distributed.Future` that rundry uses."""

    def __await__(self) -> Generator[Any, None, bytes]: ...

    def release(self) -> None: ...


class _Client(Protocol):
    """The part of `distributed.Client`, which has no types, that rundry uses."""

    scheduler: Any

    def __await__(self) -> Generator[Any, None, object]: ...

    def submit(
        self,
        function: object,
        *arguments: object,
        key: str,
        pure: bool,
        workers: Sequence[str] | None,
        allow_other_workers: bool,
    ) -> _Future: ...

    def run(
        self, function: object, *arguments: object, on_error: str, workers: Sequence[str] | None = None
    ) -> Awaitable[dict[str, Any]]: ...

    def processing(self) -> Awaitable[Mapping[str, Sequence[str]]]: ...

    def get_versions(self) -> Awaitable[dict[str, Any]]: ...

    def close(self, timeout: float) -> Awaitable[None]: ...


class Connection:
    """A client of one scheduler. Once the connection is lost, each call raises ConnectionLost."""

    def __init__(self, client: _Client, executor: Executor, functions: WorkerFunctions) -> None:
        self._client, self._executor, self._functions = client, executor, functions

    @staticmethod
    async def open(executor: Executor, local: Started | None, functions: WorkerFunctions, seconds: float) -> Connection:
        """Connect to the scheduler within `seconds`. Raises ConnectionLost, or UserError without certificates.

        `local`: the local cluster, if the executor is one.
        """
        from distributed import Client

        _quieten()
        address = local.address if local is not None else executor.address
        assert address is not None  # a local cluster was started
        security = _security(executor, local)
        made: object = Client(
            address, asynchronous=True, timeout=seconds, security=security, set_as_default=False, name="rundry"
        )
        client = cast("_Client", made)
        try:
            async with asyncio.timeout(seconds + 1.0):
                await client
        except (OSError, TimeoutError, ValueError, RuntimeError) as error:
            await _close(client)
            raise ConnectionLost(f"no Dask scheduler answers at {executor.text}{_reason(error)}") from None
        except BaseException:
            await _close(client)
            raise
        return Connection(client, executor, functions)

    async def versions(self) -> Mapping[str, Versions]:
        """Return the versions of the scheduler and of each worker that answers, by address. Raises ConnectionLost."""
        found: dict[str, Any] = await self._ask(self._client.get_versions())
        # A function of the standard library, because a worker may not have rundry.
        asked = self._client.run(importlib.metadata.version, "rundry", on_error="return")
        ours: dict[str, Any] = await self._ask(asked)
        machines = {"the scheduler": found["scheduler"], **found["workers"]}
        return {
            place: Versions(
                text if isinstance(text := ours.get(place), str) else "",
                ".".join(str(one["host"]["python"]).split(".")[:2]),
                str(one["packages"]["distributed"]),
            )
            for place, one in machines.items()
            if place == "the scheduler" or isinstance(ours.get(place), (str, importlib.metadata.PackageNotFoundError))
        }

    async def workers(self) -> list[WorkerLoad]:
        """Return the workers that the scheduler has now. Raises ConnectionLost."""
        identity: dict[str, Any] = await self._ask(self._client.scheduler.identity(n_workers=-1))
        given = await self._ask(self._client.processing())
        return [_load(address, one, given.get(address, ())) for address, one in identity["workers"].items()]

    async def submit(
        self, batch: str, job: bytes, orders: bytes, tree: str = "", workers: Sequence[str] | None = None
    ) -> bytes:
        """Return the results of a batch, worked on one of these workers, or on any. Raises ConnectionLost, WorkerDied.

        If all of them die, it waits until it is cancelled.
        """
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError

        try:
            future = self._client.submit(
                *(self._functions.work, job, orders, batch, tree),
                key=f"{_KEY}{batch}",
                pure=False,
                workers=workers,
                allow_other_workers=False,
            )
        except Exception as error:  # noqa: BLE001 - the border to Dask: a closed client raises several kinds
            raise ConnectionLost(self._lost(error)) from None
        try:
            return await future
        except FutureCancelledError as error:
            raise ConnectionLost(self._lost(error)) from None
        except KilledWorker as error:
            raise WorkerDied(f"the Dask worker {error.last_worker.address} died while it worked the item") from None
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - the border to Dask: also what it could not read on a worker
            raise WorkerDied(f"the Dask worker failed: {_one_line(error)}") from None
        finally:
            with suppress(Exception):  # the client may be closed by now, and then nothing is left to release
                future.release()

    async def lacking(self, worker: str, digests: Sequence[str]) -> list[str]:
        """Return which of these pieces the worker lacks. Raises WorkerDied."""
        return cast("list[str]", await self._on(worker, self._functions.lacking, list(digests)))

    async def put(self, worker: str, pieces: Sequence[tuple[str, bytes]]) -> None:
        """Store pieces on the worker. Raises WorkerDied."""
        await self._on(worker, self._functions.put, list(pieces))

    async def refused(self, sandbox: bytes) -> dict[str, str]:
        """Return for each worker why its sandbox cannot be used for this `SandboxJob`; empty if it can.

        Raises ConnectionLost.
        """
        return await self._ask(self._client.run(self._functions.check_sandbox, sandbox, on_error="raise"))

    async def _on(self, worker: str, function: object, argument: object) -> object:
        """Call a function on one worker. Raises WorkerDied, also if the connection is lost."""
        try:
            async with asyncio.timeout(_ANSWER):
                found = await self._client.run(function, argument, on_error="raise", workers=[worker])
                return found[worker]
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - the border to Dask
            raise WorkerDied(f"the Dask worker {worker} did not take files: {_one_line(error)}") from None

    async def cancel(self, batches: Sequence[str]) -> None:
        """End these batches wherever they are, as far as the cluster answers in a few seconds."""
        with suppress(Exception):  # what a lost cluster still works is of no use to anyone, and is not waited for
            async with asyncio.timeout(_CLOSING):
                await self._client.run(self._functions.cancel, list(batches), on_error="ignore")

    async def close(self) -> None:
        """Close the connection. May be called twice."""
        await _close(self._client)

    async def _ask(self, question: Awaitable[T]) -> T:
        try:
            async with asyncio.timeout(_ANSWER):
                return await question
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - the border to Dask
            raise ConnectionLost(self._lost(error)) from None

    def _lost(self, error: BaseException) -> str:
        return f"the connection to the Dask scheduler at {self._executor.text} was lost{_reason(error)}"


def require_encryption(executor: Executor, workers: Sequence[WorkerLoad]) -> None:
    """Raise UserError if a worker on another machine has no TLS."""
    for worker in workers:
        scheme, _, place = worker.address.partition("://")
        host = place.rpartition(":")[0].strip("[]")
        if scheme != "tls" and not is_this_machine(host):
            raise UserError(
                f"--executor {executor.text}: the worker {worker.address} is on another machine without TLS; "
                "start the scheduler and the workers with tls:// addresses"
            )


def _security(executor: Executor, local: Started | None) -> object:
    from distributed import Security

    if local is not None:
        return Security(
            require_encryption=True,
            tls_ca_file=local.certificate,
            tls_client_cert=local.certificate,
            tls_client_key=local.key,
        )
    if not executor.is_encrypted:
        return Security(require_encryption=False)
    security: Any = Security(require_encryption=True)
    if not (security.tls_ca_file and security.tls_client_cert and security.tls_client_key):
        raise UserError(
            f"--executor {executor.text}: Dask knows no certificates; set {_CERTIFICATES}, or the same keys in "
            "~/.config/dask/distributed.yaml"
        )
    try:
        security.get_connection_args("client")
    except OSError as error:  # also ssl.SSLError
        files = f"{security.tls_ca_file}, {security.tls_client_cert} and {security.tls_client_key}"
        why = error.strerror or error
        raise UserError(
            f"--executor {executor.text}: the certificates of Dask cannot be used ({why}); correct {files}"
        ) from None
    return security


def _load(address: str, one: Mapping[str, Any], keys: Sequence[str]) -> WorkerLoad:
    metrics: dict[str, Any] = one.get("metrics") or {}
    return WorkerLoad(
        address=address,
        name=address.partition("://")[2],
        threads=int(one.get("nthreads") or 0),
        batches=[key.removeprefix(_KEY) for key in keys if key.startswith(_KEY)],
        cpu=float(metrics.get("cpu") or 0.0),
        memory=int(metrics.get("memory") or 0),
    )


def _quieten() -> None:
    """Keep the logs and warnings of Dask off the terminal. Its errors arrive as exceptions.

    Dask's settings give some loggers a level and a handler of their own, so each of them is set.
    """
    from distributed.versions import VersionMismatchWarning

    for name in ("distributed", *logging.root.manager.loggerDict):
        if name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    warnings.filterwarnings("ignore", category=VersionMismatchWarning)


async def _close(client: _Client) -> None:
    with suppress(Exception):  # the border to Dask: a lost scheduler does not answer
        async with asyncio.timeout(_CLOSING):
            await client.close(_CLOSING)


def _reason(error: BaseException) -> str:
    """Return the reason of an error of Dask in parentheses, if it says more than that there is no answer."""
    while isinstance(error.__cause__, OSError) and not isinstance(error.__cause__, TimeoutError):
        error = error.__cause__
    if isinstance(error, (TimeoutError, asyncio.CancelledError)) or not isinstance(error, OSError):
        return ""
    return f" ({error.strerror})" if error.strerror else ""


def _one_line(error: BaseException) -> str:
    return line_cut(f"{type(error).__name__}: {error}", 300)
