"""Keep the processes of a command from writing to the workspace for a while.

Under bubblewrap, the workspace mounts in the command's namespace become read-only, and the processes continue. If that
is not possible (another sandbox, or a file that is open for writing), the processes are stopped.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .process_tree import ProcessTree

_CHILD = Path(__file__).with_name("write_hold_child.py")
_SECONDS = 10.0
_ROUNDS = 50


class WriteHold:
    """Keeps the processes of one command from writing."""

    def __init__(self, tree: ProcessTree, ws: Path) -> None:
        self._tree, self._ws = tree, ws
        self._mounts: list[str] = []
        self._pid = 0
        self._stopped: set[int] = set()

    def acquire(self) -> bool:
        """Prevent writing. Return True if the processes continue without write access, False if they are stopped."""
        pids = self._tree.members()
        if not pids:
            return True
        # The first process of the sandbox lives as long as all the others.
        spaces = {pid: space for pid in pids if (space := _mounts_of(pid))}
        # It is started in the namespace of this process or in that of a layer, which other commands enter, too.
        outer = {_mounts_of(os.getpid()), spaces.get(pids[0])}
        inside = next((pid for pid, space in spaces.items() if space not in outer), 0)
        if inside and all(space == spaces[inside] or pid == pids[0] for pid, space in spaces.items()):
            mounts, has_own = _writable_mounts(inside, self._ws)
            if has_own and (not mounts or _remount(inside, mounts, read_only=True)):
                self._pid, self._mounts = inside, mounts
                return True
        self._stop()
        return False

    def release(self) -> None:
        """Allow the processes to write again, or continue the stopped ones."""
        if self._mounts:
            _remount(self._pid, self._mounts, read_only=False)
            self._mounts = []
        for pid in self._stopped:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGCONT)
        self._stopped = set()

    def _stop(self) -> None:
        """Stop processes until no new one appears, because one that is not stopped yet could start another."""
        for _ in range(_ROUNDS):
            new = set(self._tree.members()) - self._stopped
            if not new:
                return
            for pid in new:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGSTOP)
            self._stopped |= new


def _mounts_of(pid: int) -> str:
    """Return the mount namespace of a process, or empty if it has ended, or this is not Linux."""
    try:
        return str(Path(f"/proc/{pid}/ns/mnt").readlink())
    except OSError:
        return ""


def _writable_mounts(pid: int, ws: Path) -> tuple[list[str], bool]:
    """Return the writable mount points at and below the workspace, as the process sees them (proc(5)).

    Also return whether the workspace itself is a mount point; if it is not, other mounts decide what can be written.
    """
    found: list[str] = []
    has_own = False
    try:
        lines = Path(f"/proc/{pid}/mountinfo").read_text(errors="surrogateescape").splitlines()
    except OSError:
        return [], False
    for line in lines:
        fields = line.split()
        place = (
            fields[4].encode("utf-8", "surrogateescape").decode("unicode_escape", "replace") if len(fields) > 5 else ""
        )
        has_own = has_own or place == str(ws)
        if "rw" in fields[5].split(",") and (place == str(ws) or place.startswith(f"{ws}/")):
            found.append(place)
    return found, has_own


def _remount(pid: int, mounts: Sequence[str], *, read_only: bool) -> bool:
    """Change all mounts, or none. Return whether they were changed."""
    argv = [sys.executable, "-I", "-S", "-B", "-c", _CHILD.read_text("utf-8"), str(pid), "ro" if read_only else "rw"]
    try:
        return subprocess.run([*argv, *mounts], capture_output=True, timeout=_SECONDS, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
