"""Wait until nobody writes in a layer any more.

The answers come from the kernel, not from a list of processes: a process can leave its session, hide in a namespace of
its own, or pass a descriptor to another one. A lock that the first process of a PID namespace holds proves nothing: at
its end the kernel closes its files, and only then kills the others (do_exit in kernel/exit.c).
"""

from __future__ import annotations

import errno
import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from .namespaces import NamespacesRefused

if TYPE_CHECKING:
    from .namespaces import Mounted, Namespaces

_FIRST_PAUSE, _LONGEST_PAUSE = 0.001, 0.05
"""Seconds between tries."""


class Occupied(Exception):
    """Somebody still uses it; the message says who or what."""


def seal(namespaces: Namespaces, mounted: Mounted, seconds: float) -> None:
    """Make a layer read-only permanently; what it holds is then final. Raises Occupied and NamespacesRefused.

    Also descriptors that were passed on cannot change it any more. Waits up to `seconds` for files that are open for
    writing, mapped, or deleted and still open.
    """

    def is_sealed() -> bool:
        try:
            namespaces.seal(mounted)
        except NamespacesRefused as refused:
            if refused.code == errno.EBUSY:
                return False
            raise
        return True

    if not becomes(is_sealed, seconds):
        raise Occupied("a program still has a file of the layer open for writing")


def wait_until_free(namespaces: Namespaces, folder: Path, upper: str, work: str, seconds: float) -> None:
    """Wait until no process and no descriptor of any process is in a layer. Raises Occupied and NamespacesRefused.

    For layers of other runners, killed ones included. `upper` and `work` begin at `folder`.
    """
    if not becomes(lambda: not namespaces.is_used(folder, upper, work), seconds):
        raise Occupied("a program still runs in the layer, or has a file of it open")


def workspace_key(workspace: Path) -> str:
    """Return the name under which rundry keeps what belongs to a workspace."""
    return hashlib.sha256(os.fsencode(os.path.realpath(workspace))).hexdigest()[:24]


def becomes(is_so: Callable[[], bool], seconds: float) -> bool:
    """Ask repeatedly until it is so. Returns False after `seconds`."""
    until, pause = time.monotonic() + seconds, _FIRST_PAUSE
    while not is_so():
        if time.monotonic() >= until:
            return False
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
    return True
