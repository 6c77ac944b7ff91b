"""Parse `--executor`: the Dask cluster that works the items of a search."""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit

import msgspec

from ...host.internet import is_this_machine
from ...protocol import UserError

CLUSTER_CONCURRENCY = 256
"""Default number of items that a cluster works at the same time."""
CLUSTER_CHECKS = 64
"""Number of checks of a migration that a cluster runs at the same time during a scan of all files."""
_FORMS = "dask, dask:WORKERSxTHREADS, dask://127.0.0.1:8786 or tls://HOST:8786"
_LOCAL = re.compile(r"dask(?::([0-9]{1,4})x([0-9]{1,4}))?")
_THREADS = 8
"""Threads of each process of a local cluster: items mostly wait for a page, a command or a function's process."""
_MOST = 1_024
"""Maximum number of threads of a local cluster."""


class Executor(msgspec.Struct, frozen=True, kw_only=True):
    """A Dask cluster that works items."""

    text: str
    """As the user wrote it."""
    address: str | None = None
    """Address of the scheduler as Dask writes it, `tcp://...` or `tls://...`. None means that a local cluster is
    started."""
    workers: int = 0
    """Number of processes of the local cluster."""
    threads: int = 0
    """Number of threads of each process."""

    @property
    def is_encrypted(self) -> bool:
        """Whether the connections use TLS. A local cluster uses TLS with certificates of its own."""
        return self.address is None or self.address.startswith("tls://")


def read_executor(text: str) -> Executor:
    """Parse the value of `--executor`. Raises UserError."""
    text = text.strip()
    if found := _LOCAL.fullmatch(text):
        workers = int(found[1]) if found[1] else os.cpu_count() or 1
        threads = int(found[2]) if found[2] else _THREADS
        if not 1 <= workers * threads <= _MOST:
            raise UserError(f"--executor {text}: a local cluster has 1 to {_MOST:,} threads in total")
        return Executor(text=text, workers=workers, threads=threads)
    scheme, _, rest = text.partition("://")
    if scheme not in ("dask", "tls") or not rest:
        raise UserError(f"--executor {text}: write {_FORMS}")
    host, port = _host_and_port(text, rest)
    shown = f"[{host}]" if ":" in host else host
    if scheme == "dask" and not is_this_machine(host):
        raise UserError(
            f"--executor {text}: {host} is another machine, where TLS is required; write tls://{shown}:{port}"
        )
    return Executor(text=text, address=f"{'tcp' if scheme == 'dask' else 'tls'}://{shown}:{port}")


def _host_and_port(text: str, rest: str) -> tuple[str, int]:
    try:
        place = urlsplit(f"//{rest.removesuffix('/')}")
        host, port = place.hostname, place.port
    except ValueError:
        place, host, port = None, None, None
    if place is None or not host or not port or place.netloc.count("@") or place.netloc != rest.removesuffix("/"):
        raise UserError(f"--executor {text}: write host and port of the scheduler, such as dask://127.0.0.1:8786")
    return host, port
