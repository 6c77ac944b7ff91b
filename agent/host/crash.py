"""Crash points: steps of a transaction or a file write at which the crash tests can kill the process.

`RUNDRY_CRASH_AT=n` kills the process with SIGKILL at its n-th crash point; 0 only counts. With `RUNDRY_CRASH_LOG=FILE`
each point that is reached adds a line with its name to that file. Both are for tests only.
"""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable

_AT = os.environ.get("RUNDRY_CRASH_AT")


def _not_tested(name: str) -> None:
    """Do nothing outside the crash tests."""


def _counter(at: int, log: str | None) -> Callable[[str], None]:
    numbers = itertools.count(1)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
    file = os.open(log, flags, 0o600) if log is not None else None

    def reach(name: str) -> None:
        number = next(numbers)
        if file is not None:
            os.write(file, f"{name}\n".encode())
        if number == at:
            os.kill(os.getpid(), signal.SIGKILL)

    return reach


crash_point = _not_tested if _AT is None else _counter(int(_AT), os.environ.get("RUNDRY_CRASH_LOG"))
"""Mark a step after which the crash tests can kill the process, by its name."""
