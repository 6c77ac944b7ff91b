"""Names that tell which process made something, so that others find out whether it ended."""

from __future__ import annotations

import os
import platform
from functools import cache
from pathlib import Path


def process_name(kind: str) -> str:
    """Return a name of this process; `is_process_gone` parses it. `kind` contains no `-`."""
    return f"{kind}-{os.getpid()}-{_processes()}"


def is_process_gone(name: str) -> bool:
    """Return whether the process of that name ended. False if that is unknown."""
    _, _, numbers = name.partition("-")
    pid, _, processes = numbers.partition("-")
    if not pid.isdecimal() or processes != _processes():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:  # the process belongs to another user
        return False
    return False


@cache
def _processes() -> str:
    """Return where this process id is valid: the host and its PID namespace."""
    try:
        namespace = Path("/proc/self/ns/pid").readlink().name
    except OSError:
        namespace = ""
    return f"{platform.node()} {namespace}"
