"""Commands held back by Landlock, where the kernel has it and bubblewrap does not work.

The rules can only give: what is given for the workspace holds for all in it. So what must not change there is put back
after the command (`put_back`), and what must not be read is left out of what may be.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from .confined.readable import devices, readable_places
from .confined.sight import Sight
from .landlock_child import abi_here

LEAST = 2
"""The first ABI in which a file can be moved from one folder of the workspace to another."""
_TCP = 4
_CHILD = Path(__file__).with_name("landlock_child.py")


def why_no_landlock() -> str:
    """Empty where the kernel has one that is good enough."""
    abi = abi_here()
    if abi == 0:
        return "this kernel has no Landlock"
    return f"this kernel's Landlock is too old (ABI {abi})" if abi < LEAST else ""


def holds_network() -> bool:
    """Return whether Landlock can refuse TCP connections here."""
    return abi_here() >= _TCP


def landlock(
    argv: Sequence[str],
    ws: Path,
    *,
    temp: Path,
    sight: Sight,
    network: bool,
    writable: Sequence[Path],
    processes: int,
    read: Sequence[Path] = (),
    show: Sequence[Path] = (),
) -> list[str]:
    """`ws` and `temp` can be written, and what is let through this once; some of the rest can be read.

    `read`: folders in what is hidden that can be read. `show`: what can be read besides the usual places.
    """
    settings = {
        "write": [str(path) for path in (ws, temp, *devices(), *writable)],
        "places": [str(path) for path in readable_places(sight, show)],
        "hide": [str(path) for path in sight.hidden],
        "read": [str(path) for path in (*read, *sight.shown)],
        "network": network,
        "processes": processes,
    }
    own = f"import os; os.environ.update(TMPDIR={str(temp)!r}, GOCACHE={str(temp / '.go-build')!r})\n"
    # As text: nothing is looked for in a folder that a command may write.
    return [sys.executable, "-I", "-S", "-B", "-c", own + _text(), json.dumps(settings), *argv]


@cache
def _text() -> str:
    return _CHILD.read_text("utf-8")
