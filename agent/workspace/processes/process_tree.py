"""Find and end all processes of one command, including those that left its session.

On Linux this process adopts orphans (prctl(2), PR_SET_CHILD_SUBREAPER), so everything that a command starts stays
below it; elsewhere a mark in the environment identifies them. `killpg` alone misses children that called setsid.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import secrets
import signal
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

_MARK = "RUNDRY_COMMAND"
_LINE = [b"--noprofile", b"--norc", b"-c"]
"""Arguments with which the shell of a command line is started."""
_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
_ANYONES = (b"PATH=", b"PWD=", b"OLDPWD=", b"SHLVL=", b"_=")
"""Variables that any shell sets itself: they may be equal by chance."""
_EXITING = 0x4
"""PF_EXITING among a process's flags (linux/sched.h)."""
_ROUNDS = 50
_POLL = 0.02
_EXEC = 0.01
"""Seconds that a process gets to become its program."""


class Family:
    """The processes of one command. `mark` goes into the command's environment before it starts."""

    _living: set[Family] = set()
    """Families that are not closed. If there is only one, an orphan without a mark belongs to it."""

    def __init__(self) -> None:
        self._token = secrets.token_hex(8)
        self._root = 0
        self._seen: set[int] = set()
        self._before = set(_children(os.getpid())) if sys.platform == "linux" else set[int]()
        if sys.platform == "linux":
            _adopt_orphans()
        Family._living.add(self)  # before its first process, so that no process is assigned to another family

    @property
    def mark(self) -> dict[str, str]:
        """Variables that the command's environment must have."""
        return {_MARK: self._token}

    def begin(self, root: int) -> None:
        """Register the command's first process, which leads its own session."""
        self._root = root

    def close(self) -> None:
        """Close the family: no process of the command is left, or the rest was given up."""
        Family._living.discard(self)

    def members(self) -> list[int]:
        """Return the pids that are alive now; dead orphans of any family are reaped at the same time."""
        return _living(self._members())

    async def end(self, grace: float) -> int:
        """Ask all processes to end, and kill the rest after `grace` seconds. Returns the number that was alive.

        All are stopped first, and the shell that runs the command line stays stopped: once the program that it waits
        for has ended, it would run the rest of the line. A sandbox's own first process ends a moment after the
        command and is not counted. Processes in the sandbox end with it and are counted, even if they are dead by now.
        """
        below = _below_heads()  # immediately, because they are gone in a moment
        members = self._members()
        alive = _living(members)
        dying = {child for head in below.keys() & set(members) for child in below[head]}
        left = len((set(alive) | dying) - below.keys())
        until = time.monotonic() + grace
        asked = held = _with_ancestors(_shells(self._stop_all()))
        while (alive := set(self.members())) - held and time.monotonic() < until:
            for pid in alive - asked:  # includes processes that started meanwhile
                _send(pid, signal.SIGTERM)
                _send(pid, signal.SIGCONT)
            asked = asked | alive
            await asyncio.sleep(_POLL)
        self.kill()
        until = time.monotonic() + 1.0
        while self.members() and time.monotonic() < until:  # noqa: ASYNC110 - no event tells of orphans
            await asyncio.sleep(_POLL)
        return left

    def kill(self) -> None:
        """Stop all, so that none can fork, then kill them. Does not wait."""
        for _ in range(_ROUNDS):
            stopped = self._stop_all()
            if not stopped:
                return
            for pid in stopped:
                _send(pid, signal.SIGKILL)
            self._reap()

    def _stop_all(self) -> set[int]:
        """Stop every process, also new ones. Returns them."""
        stopped: set[int] = set()
        for _ in range(_ROUNDS):
            new = set(self.members()) - stopped
            if not new:
                break
            for pid in new:
                _send(pid, signal.SIGSTOP)
            stopped |= new
        return stopped

    def _members(self) -> list[int]:
        return self._members_linux() if sys.platform == "linux" else self._members_elsewhere()

    def _members_linux(self) -> list[int]:
        me = os.getpid()
        found: list[int] = []
        for child in _children(me):
            if child == self._root or child in self._seen or self._is_our_orphan(child):
                found.append(child)
        for pid in found:  # grows while it is walked: children of children
            found.extend(child for child in _children(pid) if child not in found)
        self._seen = {pid for pid in (*self._seen, *found) if _state(pid)}
        self._reap()
        return found

    def _is_our_orphan(self, child: int) -> bool:
        environment = _settled_environment(child)
        if _state(child) == "Z":
            return False
        if f"{_MARK}={self._token}".encode() in environment or _session(child) == self._root:
            return True
        if child in self._before or len(Family._living) > 1:
            return False
        # Its environment was cleared or written over (`env -i`, setproctitle). What this process starts itself
        # has its environment, or its session.
        mine = {item for item in _environment(os.getpid()) if not item.startswith(_ANYONES)}
        return not mine.intersection(environment) and _session(child) != os.getsid(0)

    def _reap(self) -> None:
        """Reap dead orphans; processes that this process started are reaped by their own callers."""
        for pid in _children(os.getpid()):
            if _state(pid) == "Z" and pid != self._root and (pid in self._seen or _was_adopted(pid)):
                with suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
                self._seen.discard(pid)

    def _members_elsewhere(self) -> list[int]:
        import psutil  # ~15 ms

        found: set[int] = set()
        parents: dict[int, int] = {}
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                parents[process.pid] = process.ppid()
                if process.pid == self._root or process.environ().get(_MARK) == self._token:
                    found.add(process.pid)
        size = -1
        while size != len(found):
            size = len(found)
            found |= {pid for pid, parent in parents.items() if parent in found}
        return sorted(found)


@cache
def _adopt_orphans() -> None:
    ctypes.CDLL(None, use_errno=True).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                found.extend(map(int, (task / "children").read_text().split()))
    return found


def _environment(pid: int) -> list[bytes]:
    """Return the environment of a process; empty if it is not readable."""
    try:
        return [item for item in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0") if item]
    except OSError:
        return []


def _living(pids: list[int]) -> list[int]:
    return [pid for pid in pids if _state(pid) not in ("Z", "X", "")]


def _shells(pids: Iterable[int]) -> set[int]:
    """Return those that run the command line itself (`processes.shell`)."""
    return {pid for pid in pids if _words(pid)[1:4] == _LINE}


def _words(pid: int) -> list[bytes]:
    """Return the arguments that a process was started with; empty if they are not readable."""
    if sys.platform == "linux":
        with suppress(OSError):
            return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return []
    import psutil

    with suppress(psutil.Error):
        return [os.fsencode(word) for word in psutil.Process(pid).cmdline()]
    return []


def _with_ancestors(pids: set[int]) -> set[int]:
    """Return them and their ancestors up to this process: a sandbox that ends takes all processes in it along."""
    found, todo = set(pids), list(pids)
    while todo:
        parent = _parent(todo.pop())
        if parent not in (0, 1, os.getpid()) and parent not in found:
            found.add(parent)
            todo.append(parent)
    return found


def _parent(pid: int) -> int:
    if sys.platform == "linux":
        fields = _stat(pid)
        return int(fields[1]) if len(fields) > 1 else 0
    import psutil

    with suppress(psutil.Error):
        return psutil.Process(pid).ppid()
    return 0


def _settled_environment(pid: int) -> list[bytes]:
    """Read an environment, also during execve(2), when a process has neither arguments nor environment for a moment."""
    until = time.monotonic() + _EXEC
    while not (environment := _environment(pid)) and time.monotonic() < until:
        try:
            if Path(f"/proc/{pid}/cmdline").read_bytes():
                return _environment(pid)  # execve is over, and the new program may have none
        except OSError:
            break
        if _is_exiting(pid):
            break
        time.sleep(0)
    return environment


def _is_exiting(pid: int) -> bool:
    fields = _stat(pid)
    return len(fields) < 7 or bool(int(fields[6]) & _EXITING)


def _below_heads() -> dict[int, list[int]]:
    """Map the first process of each sandbox whose command has ended, a child of this process, to its children."""
    if sys.platform != "linux":
        return {}
    return {pid: _children(pid) for pid in _children(os.getpid()) if _leads_a_namespace(pid)}


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat from the third on (proc(5)); empty: no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def _state(pid: int) -> str:
    if sys.platform == "linux":
        return (_stat(pid) or [""])[0]
    import psutil

    try:
        return "Z" if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE else "R"
    except psutil.Error:
        return ""


def _session(pid: int) -> int:
    fields = _stat(pid)
    return int(fields[3]) if len(fields) > 3 else 0


def _was_adopted(pid: int) -> bool:
    """Return whether a child was adopted. Our own children have our session or lead one, in our namespace.

    Works for a zombie without an environment too. False for a dead orphan that led its own session.
    """
    return _session(pid) not in (0, pid, os.getsid(0)) or _depth(pid) > _depth(os.getpid())


def _leads_a_namespace(pid: int) -> bool:
    """Return whether it is the first process of a pid namespace below ours: all processes in it end with it."""
    numbers = _numbers(pid)
    return len(numbers) > _depth(os.getpid()) and numbers[-1] == "1"


def _depth(pid: int) -> int:
    """Return how many pid namespaces deep it is; a sandbox's first process is one deeper than this one."""
    return len(_numbers(pid))


def _numbers(pid: int) -> list[str]:
    """Return its pid in each of its namespaces, ours first (proc(5), NSpid)."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(errors="replace")
    except OSError:
        return []
    return status.partition("\nNSpid:")[2].partition("\n")[0].split()


def _send(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
