"""Find the unix sockets of services on this machine that a read-only mount would leave reachable."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec

from ....system.real_paths import followed, is_folder, matches
from ....system.tables import read_table
from .secret_places import is_needed

_FILE = Path(__file__).with_name("sockets.toml")
_TABLE = Path("/proc/net/unix")
_MOUNTS = Path("/proc/self/mountinfo")
_ACCEPTS, _DATAGRAM = 0x10000, "0002"
_FLAGS, _TYPE, _PATH = 3, 4, 7
"""Columns of /proc/net/unix."""
_TARGET = 4
"""Column of /proc/self/mountinfo."""


class _Known(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    home: list[str]
    system: list[str]


def sockets_of_services() -> list[Path]:
    """Return the sockets of services, and the folders of such sockets, that exist here; links are resolved."""
    named = {path for known in _known() if (path := followed(known)) is not None}
    found = {path for path in named if not is_needed(path)}
    found |= {path for path in (*_listening(), *_mounted()) if _is_socket(path)}
    return sorted(path for path in found if is_folder(path) or _is_socket(path))


def _known() -> Iterator[str]:
    known = _table()
    for base, names in ((Path.home(), known.home), (Path("/"), known.system)):
        for name in names:
            yield from matches(base, name.lstrip("/"))
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if Path(runtime).is_absolute() and runtime.rstrip("/") != str(Path.home()):
        yield runtime
    for name in ("SSH_AUTH_SOCK", "WAYLAND_DISPLAY", "DOCKER_HOST", "CONTAINER_HOST"):
        path = os.environ.get(name, "").removeprefix("unix://")
        if path.startswith("/"):
            yield path


def _listening() -> Iterator[Path]:
    try:
        rows = _TABLE.read_bytes().splitlines()[1:]
    except OSError:
        return
    for row in rows:
        columns = row.decode("utf-8", "surrogateescape").split(" ", _PATH + 30)
        columns = [column for column in columns if column]
        if len(columns) <= _PATH or not columns[_PATH].startswith("/"):
            continue
        if int(columns[_FLAGS], 16) & _ACCEPTS or columns[_TYPE] == _DATAGRAM:
            yield Path(" ".join(columns[_PATH:]))


def _mounted() -> Iterator[Path]:
    """Yield sockets that are mounted into this container, whose services listen in another namespace."""
    try:
        rows = _MOUNTS.read_bytes().splitlines()
    except OSError:
        return
    for row in rows:
        target = row.decode("utf-8", "surrogateescape").split(" ")[_TARGET]
        yield Path(target.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\"))


def _is_socket(path: Path) -> bool:
    try:
        return stat.S_ISSOCK(path.stat().st_mode)
    except (OSError, ValueError):
        return False


@cache
def _table() -> _Known:
    return read_table(_FILE, _Known)
