"""Read files of a git folder as they are in the workspace and as a layer has them, without trusting the layer."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from typing import Literal, NamedTuple

from ...host.plain_files import reader_of
from ..layer_effects import TooMuch, entries_of, is_opaque, is_whiteout, made_readable, status_at
from ..open_below import open_below

MOST_FILES = 200_000
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY


class LayerPlace(NamedTuple):
    """A folder that a layer covers."""

    upper: int
    """The open folder with what was written."""
    live: int
    """The open folder that the layer covers."""
    stamp_ns: int
    """What changed at this time or later may not be what the command saw."""


class File(NamedTuple):
    """A file of the workspace."""

    data: bytes
    ctime_ns: int


class Both(NamedTuple):
    """The files at and below a path, by their paths below the place."""

    live: dict[bytes, File]
    layer: dict[bytes, bytes]
    is_touched: bool
    strange: list[bytes]
    """What the layer has there that is not a plain file."""


def both_sides(place: LayerPlace, top: bytes, limit: int) -> Both:
    """Read the file at `top`, or all below it. If the layer wrote nothing there, nothing is read.

    Raises OSError, and TooMuch for more than 200,000 files or a file of more than `limit` bytes.
    """
    traces = list(_traces(place.upper, top))
    if not traces:
        return Both({}, {}, False, [])
    live = files_at(place.live, top, limit)
    layer, strange = {path: file.data for path, file in live.items()}, list[bytes]()
    for kind, path in traces:
        inner = path + b"/"
        for hidden in [one for one in layer if one == path or (one.startswith(inner) and kind != "folder")]:
            del layer[hidden]
        if kind == "file":
            layer[path] = read_below(place.upper, path, limit)
        elif kind == "strange":
            strange.append(path)
    return Both(live, layer, True, strange)


def files_at(folder: int, top: bytes, limit: int) -> dict[bytes, File]:
    """Read the plain file at `top`, or those below it. Raises OSError and TooMuch."""
    found, waiting = dict[bytes, File](), [top]
    while waiting:
        path = waiting.pop()
        status = status_at(folder, path)
        if status is None:
            continue
        if stat.S_ISDIR(status.st_mode):
            waiting += [path + b"/" + name for name, _ in entries_of(folder, path)]
        elif stat.S_ISREG(status.st_mode):
            try:
                found[path] = File(read_below(folder, path, limit), status.st_ctime_ns)
            except FileNotFoundError:  # git has just replaced it
                continue
        if len(found) + len(waiting) > MOST_FILES:
            raise TooMuch(f"{os.fsdecode(top)} has more than {MOST_FILES:,} files")
    return found


def read_below(folder: int, path: bytes, limit: int) -> bytes:
    """Read a plain file below an open folder; no link is followed. Raises OSError and TooMuch."""
    opened = open_below(folder, path, _READ)
    with reader_of(opened) as file:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", os.fsdecode(path))
        data = file.read(limit + 1)
    if len(data) > limit:
        raise TooMuch(f"{os.fsdecode(path)} has more than {limit:,} bytes")
    return data


def _traces(upper: int, top: bytes) -> Iterator[tuple[Literal["deleted", "file", "folder", "strange"], bytes]]:
    """Yield what was written at and below a path. `folder`: only a file that was there is gone."""
    above = top
    parents = list[bytes]()
    while above := above.rpartition(b"/")[0]:
        parents.append(above)
    for parent in reversed(parents):
        status = status_at(upper, parent)
        if status is None:
            return
        if not stat.S_ISDIR(status.st_mode):
            yield "deleted", top
            return
        made_readable(upper, parent, status)
        if is_opaque(upper, parent):
            yield "deleted", top
    status = status_at(upper, top)
    waiting = [] if status is None else [(top, status)]
    while waiting:
        path, status = waiting.pop()
        made_readable(upper, path, status)
        if stat.S_ISDIR(status.st_mode):
            yield ("deleted" if is_opaque(upper, path) else "folder"), path
            waiting += [(path + b"/" + name, inner) for name, inner in entries_of(upper, path)]
        elif is_whiteout(status):
            yield "deleted", path
        else:
            yield ("file" if stat.S_ISREG(status.st_mode) else "strange"), path
