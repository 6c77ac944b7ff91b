"""Find and end all processes of one command, including those that left its session.

On Linux, this process adopts orphans (prctl(2), PR_SET_CHILD_SUBREAPER), so everything that a command starts stays
below it. On other systems, a variable in the environment identifies the processes. `killpg` would miss children that
called setsid.
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

from .process_info import (
    arguments,
    children,
    environment,
    leads_a_namespace,
    namespace_depth,
    parent,
    session,
    settled_environment,
    started,
    state,
)

_MARK = "RUNDRY_COMMAND"
_SHELL_OPTIONS = [b"--noprofile", b"--norc", b"-c"]
"""Arguments of the shell that runs a command line (`processes.shell`)."""
_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
_SHELL_VARIABLES = (b"PATH=", b"PWD=", b"OLDPWD=", b"SHLVL=", b"_=")
"""Variables that every shell sets, so that two processes may have the same value by chance."""
_ROUNDS = 50
_POLL = 0.02


class ProcessTree:
    """The processes of one command. Start the command with the variables of `mark`."""

    _open_trees: set[ProcessTree] = set()
    """All trees that are not closed. If there is only one, an orphan without a mark belongs to it."""

    def __init__(self) -> None:
        self._token = secrets.token_hex(8)
        self._root = 0
        self._seen: set[int] = set()
        self._before = {pid: started(pid) for pid in children(os.getpid())} if sys.platform == "linux" else {}
        if sys.platform == "linux":
            _adopt_orphans()
        ProcessTree._open_trees.add(self)  # before its first process, so that no process is assigned to another tree

    @property
    def mark(self) -> dict[str, str]:
        """Variables that the command's environment must have."""
        return {_MARK: self._token}

    def register_root(self, root: int) -> None:
        """Register the command's first process, which leads its own session."""
        self._root = root

    def close(self) -> None:
        """Stop assigning orphans to this tree: its processes ended, or could not be ended."""
        ProcessTree._open_trees.discard(self)

    def members(self) -> list[int]:
        """Return the pids that are alive now; dead orphans of any tree are reaped at the same time."""
        return _open_trees(self._members())

    async def end(self, grace: float) -> int:
        """Send SIGTERM to all processes, and SIGKILL after `grace` seconds. Return the number that was alive.

        All are stopped first. The shell of the command line stays stopped, because it would run the rest of the line
        when the program that it waits for ends. The first process of a sandbox ends shortly after the command and is
        not counted. Processes in the sandbox end with it and are counted, even if they are already dead.
        """
        below = _children_in_sandboxes()  # first, because they end in a moment
        members = self._members()
        alive = _open_trees(members)
        dying = {child for head in below.keys() & set(members) for child in below[head]}
        left = len((set(alive) | dying) - below.keys())
        if not members and not self.members():
            return 0  # the usual case: the only process has ended, which a second check confirms
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
        while self.members() and time.monotonic() < until:  # noqa: ASYNC110 - there is no event for orphans
            await asyncio.sleep(_POLL)
        return left

    def kill(self) -> None:
        """Stop all processes, so that none can fork, then kill them. Does not wait."""
        for _ in range(_ROUNDS):
            stopped = self._stop_all()
            if not stopped:
                return
            for pid in stopped:
                _send(pid, signal.SIGKILL)
            self._reap()

    def _stop_all(self) -> set[int]:
        """Stop all processes, also those that start meanwhile. Return them."""
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
        for child in children(me):
            if child == self._root or child in self._seen or self._is_our_orphan(child):
                found.append(child)
        for pid in found:  # grows while it is walked: children of children
            found.extend(child for child in children(pid) if child not in found)
        self._seen = {pid for pid in (*self._seen, *found) if state(pid)}
        self._reap()
        return found

    def _is_our_orphan(self, child: int) -> bool:
        if child in self._before and self._before[child] == started(child):
            return False
        found = settled_environment(child)
        if state(child) == "Z":
            return False
        if f"{_MARK}={self._token}".encode() in found or session(child) == self._root:
            return True
        if len(ProcessTree._open_trees) > 1:
            return False
        # The environment was cleared or overwritten (`env -i`, setproctitle). Processes that this process started
        # itself share its environment or its session.
        mine = {item for item in environment(os.getpid()) if not item.startswith(_SHELL_VARIABLES)}
        return not mine.intersection(found) and session(child) != os.getsid(0)

    def _reap(self) -> None:
        """Reap dead orphans; processes that this process started are reaped by their own callers."""
        for pid in children(os.getpid()):
            if state(pid) == "Z" and pid != self._root and (pid in self._seen or _was_adopted(pid)):
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


def _open_trees(pids: list[int]) -> list[int]:
    return [pid for pid in pids if state(pid) not in ("Z", "X", "")]


def _shells(pids: Iterable[int]) -> set[int]:
    """Return the processes that are the shell of a command line."""
    return {pid for pid in pids if arguments(pid)[1:4] == _SHELL_OPTIONS}


def _with_ancestors(pids: set[int]) -> set[int]:
    """Return the processes and their ancestors below this process: when a sandbox ends, all processes in it end."""
    found, todo = set(pids), list(pids)
    while todo:
        above = parent(todo.pop())
        if above not in (0, 1, os.getpid()) and above not in found:
            found.add(above)
            todo.append(above)
    return found


def _children_in_sandboxes() -> dict[int, list[int]]:
    """Map the first process of each sandbox that is a child of this process to its own children."""
    if sys.platform != "linux":
        return {}
    return {pid: children(pid) for pid in children(os.getpid()) if leads_a_namespace(pid)}


def _was_adopted(pid: int) -> bool:
    """Return whether a child was adopted: our own children are in our session or lead one, in our namespace.

    Also works for a zombie, which has no environment. False for a dead orphan that led its own session.
    """
    return session(pid) not in (0, pid, os.getsid(0)) or namespace_depth(pid) > namespace_depth(os.getpid())


def _send(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
