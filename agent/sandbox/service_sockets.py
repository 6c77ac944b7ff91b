"""Find the unix sockets of services on this machine, which can be reached through a read-only mount."""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from glob import glob
from pathlib import Path

import msgspec

from ..host.real_paths import followed, is_folder, matches
from ..host.toml_tables import read_table
from .secret_places import is_needed, outermost

_FILE = Path(__file__).with_name("sockets.toml")
_TABLE = Path("/proc/net/unix")
_MOUNTS = Path("/proc/self/mountinfo")
_ACCEPTS, _DATAGRAM = 0x10000, "0002"
_FLAGS, _TYPE, _PATH = 3, 4, 7
"""Columns of /proc/net/unix."""
_MOST = 1_000
"""Maximum number of entries of a folder that are examined."""
_TARGET = 4
"""Column of /proc/self/mountinfo."""


class _Known(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    home: list[str]
    system: list[str]
    variables: list[str]


def socket_folders() -> list[Path]:
    """Return the folders that exist here for sockets of services: known ones, and those that hold nothing else."""
    named = {folder for path in _known() if (folder := followed(path)) is not None}
    found = {folder for folder in named if is_folder(folder) and not is_needed(folder)}
    found |= {path.parent for path in sockets_of_services() if _holds_only_sockets(path.parent)}
    return outermost(list(found))


def sockets_of_services() -> list[Path]:
    """Return the sockets that accept connections of other programs; links are resolved.

    The kernel lists them by the path that was bound. Another socket in the folder of one counts too: it may have been
    renamed, linked, or bound by a relative path.
    """
    listed = list(_listening())
    beside = [path for folder in {path.parent for path in listed} for path in _sockets_in(folder)]
    named = [*listed, *beside, *_mounted(), *_of_variables()]
    return sorted({path for each in named if (path := followed(each)) is not None and _is_socket(path)})


def _sockets_in(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            first = itertools.islice(entries, _MOST)
            return [Path(entry.path) for entry in first if stat.S_ISSOCK(entry.stat(follow_symlinks=False).st_mode)]
    except OSError:
        return []


def _holds_only_sockets(folder: Path) -> bool:
    """Return whether the folder has nothing in it but sockets, FIFOs and empty files such as locks."""
    if folder in (Path("/"), Path.home()):
        return False
    try:
        with os.scandir(folder) as entries:
            for count, entry in enumerate(entries):
                status = entry.stat(follow_symlinks=False)
                is_lock = stat.S_ISREG(status.st_mode) and not status.st_size
                if count >= _MOST or not (is_lock or stat.S_ISSOCK(status.st_mode) or stat.S_ISFIFO(status.st_mode)):
                    return False
    except OSError:
        return False
    return True


def _known() -> Iterator[str]:
    known = _table()
    for base, names in ((Path.home(), known.home), (Path("/"), known.system)):
        for name in names:
            yield from matches(base, name.lstrip("/"))
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if Path(runtime).is_absolute() and not Path.home().is_relative_to(runtime):
        yield runtime


def _of_variables() -> Iterator[Path]:
    for name in _table().variables:
        path = os.environ.get(name, "").removeprefix("unix://").removeprefix("unix:path=").partition(",")[0]
        if path.startswith("/"):
            yield Path(path)


def _listening() -> Iterator[Path]:
    try:
        rows = _TABLE.read_bytes().splitlines()[1:]
    except OSError:
        return
    relative = set[str]()
    for row in rows:
        columns = row.decode("utf-8", "surrogateescape").split(" ", _PATH + 30)
        columns = [column for column in columns if column]
        if len(columns) <= _PATH or columns[_PATH].startswith("@"):
            continue
        if int(columns[_FLAGS], 16) & _ACCEPTS or columns[_TYPE] == _DATAGRAM:
            path = " ".join(columns[_PATH:])
            if path.startswith("/"):
                yield Path(path)
            else:
                relative.add(path)
    for folder in _working_folders() if relative else ():
        yield from (folder / path for path in relative)


def _working_folders() -> set[Path]:
    """Return the folders in which the user's processes work, from which they may have bound a relative path."""
    found = set[Path]()
    for link in glob("/proc/[0-9]*/cwd"):  # noqa: PTH207 - Path.glob resolves each entry
        with suppress(OSError):
            found.add(Path(link).readlink())
    return found


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
