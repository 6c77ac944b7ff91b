"""All processes that came of one command, also those that left its session, and their end.

On Linux this process adopts orphans (prctl(2), PR_SET_CHILD_SUBREAPER), so whatever a command starts stays below us;
elsewhere a mark in the environment finds it. `killpg` alone misses children that called setsid.
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
"""How the shell of a command line is started."""
_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
_ANYONES = (b"PATH=", b"PWD=", b"OLDPWD=", b"SHLVL=", b"_=")
"""What any shell sets for itself: it may be the same here and there by chance."""
_EXITING = 0x4
"""PF_EXITING among a process's flags (linux/sched.h)."""
_ROUNDS = 50
_POLL = 0.02
_EXEC = 0.01
"""Seconds that a process is given to become the program that it is to be."""


class Family:
    """The processes of one command. `mark` goes into the command's environment before it starts."""

    _living: set[Family] = set()
    """Families not closed yet; with one only, an orphan without a mark can be told to be its."""

    def __init__(self) -> None:
        self._token = secrets.token_hex(8)
        self._root = 0
        self._seen: set[int] = set()
        self._before = set(_children(os.getpid())) if sys.platform == "linux" else set[int]()
        if sys.platform == "linux":
            _adopt_orphans()
        Family._living.add(self)  # before its first process: none may be taken for another family's

    @property
    def mark(self) -> dict[str, str]:
        """What the command's environment must hold."""
        return {_MARK: self._token}

    def begin(self, root: int) -> None:
        """The command's first process, which leads a session of its own, has started."""
        self._root = root

    def close(self) -> None:
        """Nothing of the command is left, or it was given up on."""
        Family._living.discard(self)

    def members(self) -> list[int]:
        """The pids that are alive now; dead orphans, of whichever family, are reaped on the way."""
        return _living(self._members())

    async def end(self, grace: float) -> int:
        """Ask all to end, and kill what is left after `grace` seconds. Returns the number that was found alive.

        All are stopped first, and the shell that runs the command line stays stopped: once the program that it waits
        for has ended, it would run the rest of the line. A sandbox's own first process ends a moment after the
        command, and is not of that number; what was alive in there ends with it, and is, also where it is dead by now.
        """
        below = _below_heads()  # at once: they are gone in a moment
        members = self._members()
        alive = _living(members)
        dying = {child for head in below.keys() & set(members) for child in below[head]}
        left = len((set(alive) | dying) - below.keys())
        until = time.monotonic() + grace
        asked = held = _with_ancestors(_shells(self._stop_all()))
        while (alive := set(self.members())) - held and time.monotonic() < until:
            for pid in alive - asked:  # also what was only born while the others were asked
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
        """All are stopped, so that none can fork on, then killed. Does not wait."""
        for _ in range(_ROUNDS):
            stopped = self._stop_all()
            if not stopped:
                return
            for pid in stopped:
                _send(pid, signal.SIGKILL)
            self._reap()

    def _stop_all(self) -> set[int]:
        """Stop every process, also those that are born meanwhile. Returns them."""
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
        """Takes dead orphans off the process table; what this process started itself is waited for by who did."""
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
    """Empty also where it is not to be known."""
    try:
        return [item for item in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0") if item]
    except OSError:
        return []


def _living(pids: list[int]) -> list[int]:
    return [pid for pid in pids if _state(pid) not in ("Z", "X", "")]


def _shells(pids: Iterable[int]) -> set[int]:
    """Those that run the command line itself (`processes.shell`)."""
    return {pid for pid in pids if _words(pid)[1:4] == _LINE}


def _words(pid: int) -> list[bytes]:
    """The words with which it was started; empty where they are not to be known."""
    if sys.platform == "linux":
        with suppress(OSError):
            return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return []
    import psutil

    with suppress(psutil.Error):
        return [os.fsencode(word) for word in psutil.Process(pid).cmdline()]
    return []


def _with_ancestors(pids: set[int]) -> set[int]:
    """They and what they were started by, up to this process: a sandbox that ends takes all in it along."""
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
    """Also of a process in the middle of execve(2), which has neither words nor environment for a moment."""
    until = time.monotonic() + _EXEC
    while not (environment := _environment(pid)) and time.monotonic() < until:
        try:
            if Path(f"/proc/{pid}/cmdline").read_bytes():
                return _environment(pid)  # what it has become stands now, and may well have none
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
    """The first process of each sandbox that is a child of this process, since its command ended, and its children."""
    if sys.platform != "linux":
        return {}
    return {pid: _children(pid) for pid in _children(os.getpid()) if _leads_a_namespace(pid)}


def _stat(pid: int) -> list[str]:
    """Fields of /proc/PID/stat from the third on (proc(5)); empty: no such process."""
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
    """A child that this process did not start: of its own it has the session, or leads one, and shares its namespace.

    Also told of a zombie, whose environment is gone. False for a dead orphan that led a session of its own here.
    """
    return _session(pid) not in (0, pid, os.getsid(0)) or _depth(pid) > _depth(os.getpid())


def _leads_a_namespace(pid: int) -> bool:
    """It is the first process of a pid namespace below ours: all in there end with it."""
    numbers = _numbers(pid)
    return len(numbers) > _depth(os.getpid()) and numbers[-1] == "1"


def _depth(pid: int) -> int:
    """How many pid namespaces deep it is; a sandbox's first process is one deeper than we."""
    return len(_numbers(pid))


def _numbers(pid: int) -> list[str]:
    """Its pid in each namespace that it is in, ours first (proc(5), NSpid)."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(errors="replace")
    except OSError:
        return []
    return status.partition("\nNSpid:")[2].partition("\n")[0].split()


def _send(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
