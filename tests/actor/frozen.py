"""Stop all processes of a run for a moment, so that what changes meanwhile is the user's, and nothing else."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType

_STOPPED, _SECONDS = "TtZXx", 0.5
"""States of a process in which it does nothing, and how long it is waited for: a vfork waits for its stopped child."""


class Frozen:
    """The processes of a run, its commands and its applier included. They are recognized by a folder of the run."""

    def __init__(self, root: Path) -> None:
        self._root = os.fsencode(root)
        self._stopped: set[int] = set()

    def __enter__(self) -> Frozen:
        while fresh := self.processes() - self._stopped:
            for pid in fresh:
                _send(pid, signal.SIGSTOP)
            self._stopped |= fresh
            deadline = time.monotonic() + _SECONDS
            while any(_state(pid)[0] not in _STOPPED for pid in fresh) and time.monotonic() < deadline:
                time.sleep(0.001)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None):
        for pid in self._stopped:
            _send(pid, signal.SIGCONT)
        self._stopped = set()

    def kill(self, *, applier: bool) -> None:
        """Kill the runner, its view and what they started, and maybe also the process that applies accepted effects."""
        for _ in range(2):  # the second time for what was started meanwhile
            for pid in self.processes():
                if applier or b"layers.applier" not in _read(pid, "cmdline"):
                    _send(pid, signal.SIGKILL)

    def processes(self) -> set[int]:
        """Return the processes that name the folder, or work in it, and all that they started."""
        parents = dict[int, int]()
        found = set[int]()
        for name in os.listdir("/proc"):
            if name.isdigit() and int(name) != os.getpid():
                pid = int(name)
                state, parent = _state(pid)
                if state in "ZXx":
                    continue
                parents[pid] = parent
                if self._is_named(pid):
                    found.add(pid)
        return {pid for pid in parents if self._is_below(pid, parents, found)}

    def _is_named(self, pid: int) -> bool:
        try:
            folder = os.fsencode(os.readlink(f"/proc/{pid}/cwd"))
        except OSError:
            folder = b""
        return any(self._root in text for text in (_read(pid, "environ"), _read(pid, "cmdline"), folder))

    def _is_below(self, pid: int, parents: dict[int, int], found: set[int]) -> bool:
        while pid in parents:
            if pid in found:
                return True
            pid = parents[pid]
        return False


def _send(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def _state(pid: int) -> tuple[str, int]:
    """Return the state of a process, `X` if there is none, and its parent."""
    text = _read(pid, "stat").rpartition(b")")[2].split()
    return (text[0].decode(), int(text[1])) if text else ("X", 0)


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""
