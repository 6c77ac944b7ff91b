"""Confine commands with Landlock, if the kernel supports it and bubblewrap does not work.

A Landlock rule can only grant access, and a rule for a folder applies to everything in it. So rundry grants read access
to each place around a hidden one. What a command changed in the workspace is compared by the caller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .readable_places import devices, readable_places
from .restrict_process import abi_here
from .start_command import Apart, restricted

if TYPE_CHECKING:
    from .hidden_places import HiddenPlaces

LEAST = 2
"""The first Landlock ABI that can allow moving a file from one folder to another."""
_TCP = 4


def why_no_landlock() -> str:
    """Return why Landlock cannot be used on this kernel; empty if it can."""
    abi = abi_here()
    if abi == 0:
        return "this kernel has no Landlock"
    return f"this kernel's Landlock is too old (ABI {abi})" if abi < LEAST else ""


def can_block_tcp() -> bool:
    """Return whether Landlock can refuse TCP connections here."""
    return abi_here() >= _TCP


def landlock(
    argv: Sequence[str],
    ws: Path,
    *,
    temp: Path,
    hidden_places: HiddenPlaces,
    network: bool,
    writable: Sequence[Path],
    processes: int,
    report: int = -1,
    read: Sequence[Path] = (),
    show: Sequence[Path] = (),
    keeps_workspace: bool = False,
    apart: Apart | None = None,
    env: Mapping[str, str] | None = None,
) -> list[str]:
    """Return the command line that runs `argv` under Landlock. Only `ws`, `temp` and `writable` can be written.

    `report`: the descriptor of a `SetUp`. `read`: readable folders inside hidden ones. `show`: readable places in
    addition to the usual ones. `keeps_workspace`: `ws` can only be read. `apart`: namespaces of its own. None means
    none. `env`: additional variables.
    """
    show = [*show, ws] if keeps_workspace else show
    rules = {
        "write": [str(path) for path in (*([] if keeps_workspace else [ws]), temp, *devices(), *writable)],
        "places": [str(path) for path in readable_places(hidden_places, show)],
        "hide": [str(path) for path in hidden_places.hidden],
        "keep": [str(path) for path in hidden_places.own],
        "read": [str(path) for path in (*read, *hidden_places.shown)],
    }
    variables = {"TMPDIR": str(temp), "GOCACHE": str(temp / ".go-build"), **(env or {})}
    return restricted(
        argv,
        rules,
        network=network,
        processes=processes,
        report=report,
        env=variables,
        apart=apart,
    )
