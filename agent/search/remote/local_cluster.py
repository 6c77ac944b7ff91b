"""A Dask cluster for one run, in a process of its own: `python -m rundry.agent.search.remote.local_cluster N THREADS`.

It prints one line of JSON (`Started`) once the workers are there, and ends when its standard input ends: that is when
the runner closes the cluster, or was killed. All of it binds loopback, and only the runner has the certificates.
"""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import AbstractAsyncContextManager
from typing import Protocol, cast

import msgspec

from ...host.own_temp import temp_folder


class Started(msgspec.Struct, frozen=True):
    """How to reach the cluster."""

    address: str
    certificate: str
    """The cluster's certificate in PEM form; it is its own authority."""
    key: str


class _Security(Protocol):
    """The part of `distributed.Security` that rundry uses."""

    def get_tls_config_for_role(self, role: str) -> dict[str, str]: ...


class _Cluster(Protocol):
    """The part of `distributed.LocalCluster` that rundry uses."""

    scheduler_address: str


class _MakeCluster(Protocol):
    """`distributed.LocalCluster`, whose types refuse None for "no dashboard"."""

    def __call__(self, **options: object) -> AbstractAsyncContextManager[_Cluster]: ...


async def serve_cluster(workers: int, threads: int, folder: str) -> None:
    """Run the cluster until standard input ends."""
    import distributed
    from dask import config

    # A batch whose worker died is worked on one other worker, then its items fail and are tried again one by one.
    config.set({"distributed.scheduler.allowed-failures": 1, "temporary-directory": folder})
    security = cast("_Security", distributed.Security.temporary())  # pyright: ignore[reportUnknownMemberType]
    make = cast("_MakeCluster", distributed.LocalCluster)
    async with make(
        n_workers=workers,
        threads_per_worker=threads,
        processes=True,
        host="127.0.0.1",
        protocol="tls://",
        security=security,
        dashboard_address=None,
        worker_dashboard_address=None,
        local_directory=folder,
        silence_logs=50,
        asynchronous=True,
    ) as cluster:
        wire = security.get_tls_config_for_role("client")
        started = Started(cluster.scheduler_address, wire["ca_file"], wire["key"])
        os.write(1, msgspec.json.encode(started) + b"\n")
        await asyncio.to_thread(sys.stdin.buffer.read)


def main() -> None:
    """Run the cluster of the command line."""
    workers, threads = map(int, sys.argv[1:3])
    with temp_folder("dask") as folder:
        asyncio.run(serve_cluster(workers, threads, str(folder)))


if __name__ == "__main__":
    main()
