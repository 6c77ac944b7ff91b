"""Read properties of a process: children, state, session, arguments and environment.

On Linux, they are read from /proc (proc(5)) with plain system calls, because each end of a command reads many files.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress

_EXITING = 0x4
"""PF_EXITING among a process's flags (linux/sched.h)."""
_EXEC = 0.01
"""Seconds that a process may take for execve(2)."""
_PIECE = 65_536


def children(pid: int) -> list[int]:
    """Return the pids of its children; empty if they are not readable."""
    found: list[int] = []
    with suppress(OSError), os.scandir(f"/proc/{pid}/task") as tasks:
        for task in tasks:
            with suppress(OSError):
                found.extend(map(int, _read(f"{task.path}/children").split()))
    return found


def environment(pid: int) -> list[bytes]:
    """Return the environment of a process; empty if it is not readable."""
    try:
        return [item for item in _read(f"/proc/{pid}/environ").split(b"\0") if item]
    except OSError:
        return []


def state(pid: int) -> str:
    """Return the letter of its state, such as Z for a zombie. Empty means no such process."""
    if sys.platform == "linux":
        return (_stat(pid) or [""])[0]
    import psutil

    try:
        return "Z" if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE else "R"
    except psutil.Error:
        return ""


def started(pid: int) -> str:
    """Return the start time, which identifies a process together with its pid.

    Empty means no such process, or not Linux.
    """
    fields = _stat(pid)
    return fields[19] if len(fields) > 19 else ""


def parent(pid: int) -> int:
    """Return the pid of its parent, or 0."""
    if sys.platform == "linux":
        fields = _stat(pid)
        return int(fields[1]) if len(fields) > 1 else 0
    import psutil

    with suppress(psutil.Error):
        return psutil.Process(pid).ppid()
    return 0


def session(pid: int) -> int:
    """Return the id of its session, or 0."""
    fields = _stat(pid)
    return int(fields[3]) if len(fields) > 3 else 0


def arguments(pid: int) -> list[bytes]:
    """Return the arguments that a process was started with; empty if they are not readable."""
    if sys.platform == "linux":
        with suppress(OSError):
            return _read(f"/proc/{pid}/cmdline").split(b"\0")
        return []
    import psutil

    with suppress(psutil.Error):
        return [os.fsencode(word) for word in psutil.Process(pid).cmdline()]
    return []


def settled_environment(pid: int) -> list[bytes]:
    """Return the environment, and wait for a running execve(2), during which it is empty for a moment."""
    until = time.monotonic() + _EXEC
    while not (found := environment(pid)) and time.monotonic() < until:
        try:
            if _read(f"/proc/{pid}/cmdline"):
                return environment(pid)  # execve is over, and the new program may have none
        except OSError:
            break
        if _is_exiting(pid):
            break
        time.sleep(0)
    return found


def _is_exiting(pid: int) -> bool:
    fields = _stat(pid)
    return len(fields) < 7 or bool(int(fields[6]) & _EXITING)


def leads_a_namespace(pid: int) -> bool:
    """Return whether it is the first process of a pid namespace below ours, so that all processes in it end with it."""
    numbers = _numbers(pid)
    return len(numbers) > namespace_depth(os.getpid()) and numbers[-1] == "1"


def namespace_depth(pid: int) -> int:
    """Return the number of pid namespaces that it is in. In a sandbox, it is one more than for this process."""
    return len(_numbers(pid))


def _numbers(pid: int) -> list[str]:
    """Return its pid in each of its namespaces, ours first (proc(5), NSpid)."""
    try:
        status = _read(f"/proc/{pid}/status")
    except OSError:
        return []
    return status.partition(b"\nNSpid:")[2].partition(b"\n")[0].decode().split()


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat from the third on (proc(5)). Empty means no such process."""
    try:
        return _read(f"/proc/{pid}/stat").rpartition(b")")[2].decode().split()
    except OSError:
        return []


def _read(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        pieces = [os.read(fd, _PIECE)]
        while pieces[-1]:
            pieces.append(os.read(fd, _PIECE))
    finally:
        os.close(fd)
    return b"".join(pieces)
