"""A real Dask scheduler and real Dask workers on loopback, each a process of its own that a test can kill."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import psutil

WAIT = 60.0
"""Seconds for a process of the cluster to be there."""


class DaskCluster:
    """A scheduler at a fixed port of loopback, and workers with two threads each."""

    def __init__(
        self,
        folder: Path,
        *,
        workers: int = 2,
        threads: int = 2,
        env: Mapping[str, str] | None = None,
        tls: Sequence[str] = (),
    ) -> None:
        """`env`: further variables of the workers. `tls`: options of the scheduler and workers with certificates."""
        self._tls = tls
        self._folder, self._threads, self._env = folder, threads, env or {}
        self.port = _free_port()
        self.scheduler = self._start_scheduler()
        self.workers = [self.add_worker() for _ in range(workers)]

    @property
    def executor(self) -> str:
        """What `--executor` takes."""
        return f"{'tls' if self._tls else 'dask'}://127.0.0.1:{self.port}"

    def restart_scheduler(self) -> None:
        """Kill the scheduler, and start another one at the same port with new workers: the old ones end with it."""
        self.scheduler.kill()
        self.scheduler.wait()
        for worker in self.workers:
            end(worker)
        self.scheduler = self._start_scheduler()
        self.workers = [self.add_worker() for _ in self.workers]

    def kill_worker(self, number: int) -> None:
        """Kill a worker with SIGKILL and start another one in its place."""
        end(self.workers[number])
        self.workers[number] = self.add_worker()

    def add_worker(self, env: Mapping[str, str] | None = None, python: Sequence[str] = ()) -> subprocess.Popen[bytes]:
        """Start a worker. It connects a moment later. `python`: options of its interpreter."""
        return self._start(
            "distributed.cli.dask_worker",
            f"{'tls' if self._tls else 'tcp'}://127.0.0.1:{self.port}",
            *self._tls,
            *("--host", "127.0.0.1", "--nthreads", str(self._threads), "--no-dashboard", "--no-nanny"),
            *("--local-directory", str(self._folder)),
            env={**self._env, **(env or {})},
            python=python,
        )

    def add_other(self, env: Mapping[str, str], python: Sequence[str] = ()) -> None:
        """Start a worker with this environment, and wait until all workers are connected."""
        self.workers.append(self.add_worker(env, python))
        wait_for(lambda: self.connected() == len(self.workers))

    def connected(self) -> int:
        """How many workers the scheduler knows."""
        from distributed import Client

        with Client(f"tcp://127.0.0.1:{self.port}", timeout=WAIT, set_as_default=False) as client:
            return len(client.scheduler_info(n_workers=-1)["workers"])

    def close(self) -> None:
        for process in (*self.workers, self.scheduler):
            end(process)

    def __enter__(self) -> DaskCluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _start_scheduler(self) -> subprocess.Popen[bytes]:
        options = ["--port", str(self.port), "--no-dashboard", *self._tls]
        host = ["--protocol", "tls", "--host", "tls://127.0.0.1"] if self._tls else ["--host", "127.0.0.1"]
        started = self._start("distributed.cli.dask_scheduler", *host, *options)
        wait_for(lambda: _answers(self.port))
        return started

    def _start(
        self, module: str, *argv: str, env: Mapping[str, str] | None = None, python: Sequence[str] = ()
    ) -> subprocess.Popen[bytes]:
        with (self._folder / f"{module.rpartition('.')[2]}.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, *python, "-m", module, *argv],
                cwd=self._folder,
                env={**os.environ, **(env or {})},
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process, as `kill -9` does."""
    process.kill()
    process.wait()


def wait_for(is_so: Callable[[], bool], seconds: float = WAIT) -> None:
    """Wait until the condition holds."""
    until = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < until, "the condition did not hold in time"
        time.sleep(0.02)


def children_named(pid: int, words: str) -> list[psutil.Process]:
    """The processes below this one whose command line has these words."""
    found: list[psutil.Process] = []
    for one in psutil.Process(pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # also a zombie
            if words in " ".join(one.cmdline()):
                found.append(one)
    return found


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def _answers(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0
