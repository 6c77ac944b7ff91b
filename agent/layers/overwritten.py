"""Find the files that existed before a command and that it changed, deleted or opened for writing in its layer."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from .layer_effects import IN_MEMORY, is_opaque, is_whiteout, side_at, status_at, written_below
from .open_below import FOLDER

if TYPE_CHECKING:
    from pathlib import Path

    from .layer import Layer


class LayerEntry(NamedTuple):
    """An entry of the layer's own folder. A command that writes it changes its inode or its change time."""

    inode: int
    ctime_ns: int
    is_folder: bool
    hides: bool
    """Nothing that lies below can be seen at its path: it is a whiteout, or an opaque folder."""
    is_gone: bool
    """It is a whiteout."""


def entries_in(layer: Layer) -> dict[bytes, LayerEntry]:
    """Return the entries that rundry put into a layer before a command. Raises OSError and TooMuch."""
    upper = os.open(layer.upper, FOLDER | os.O_CLOEXEC)
    try:
        return {path: _entry(upper, path, status) for path, status in written_below(upper)}
    finally:
        os.close(upper)


def overwritten(layer: Layer, before: Mapping[bytes, LayerEntry]) -> dict[str, str]:
    """Return the paths of these files, each with the SHA-256 of its content now, or empty if it is deleted.

    No process may run in the layer any more. `before`: the result of `entries_in`. Instead of the digest of a file over
    1 MB, this is its size. Raises OSError and TooMuch.
    """
    upper, below = (os.open(folder, FOLDER | os.O_CLOEXEC) for folder in (layer.upper, layer.workspace))
    try:
        return dict(_found(upper, below, layer.workspace, before))
    finally:
        os.close(upper)
        os.close(below)


def _found(upper: int, below: int, workspace: Path, before: Mapping[bytes, LayerEntry]) -> Iterator[tuple[str, str]]:
    present = set[bytes]()
    for path, status in written_below(upper):
        present.add(path)
        now = _entry(upper, path, status)
        if before.get(path) == now:
            continue
        if not now.is_folder and not now.is_gone and _was_file(below, path, before):
            yield os.fsdecode(path), digest_or_size(upper, path)
        elif now.is_gone and _was_file(below, path, before):
            yield os.fsdecode(path), ""
        elif now.hides and not (path in before and before[path].hides):
            for inner in _files_below(workspace, path):
                if _was_file(below, inner, before) and status_at(upper, inner) is None:
                    yield os.fsdecode(inner), ""
    for path, was in before.items():
        if path not in present and not was.is_folder and not was.is_gone:
            yield os.fsdecode(path), ""


def _entry(upper: int, path: bytes, status: os.stat_result) -> LayerEntry:
    is_folder, is_gone = stat.S_ISDIR(status.st_mode), is_whiteout(status)
    hides = is_gone or (is_folder and is_opaque(upper, path))
    ctime_ns = 0 if is_folder else status.st_ctime_ns  # that of a folder changes with each entry in it
    return LayerEntry(status.st_ino, ctime_ns, is_folder, hides, is_gone)


def _was_file(below: int, path: bytes, before: Mapping[bytes, LayerEntry]) -> bool:
    """Return whether a file or link was at a path before the command."""
    if (own := before.get(path)) is not None:
        return not own.is_folder and not own.is_gone
    above = path
    while above := above.rpartition(b"/")[0]:
        if above in before and (before[above].hides or not before[above].is_folder):
            return False
    status = status_at(below, path)
    return status is not None and not stat.S_ISDIR(status.st_mode)


def _files_below(workspace: Path, folder: bytes) -> Iterator[bytes]:
    top = os.fsencode(workspace)
    for above, _, names in os.walk(top + b"/" + folder):
        for name in names:
            yield (above + b"/" + name)[len(top) + 1 :]


def digest_or_size(folder: int, path: bytes) -> str:
    """Return the SHA-256 of what is at a path below an open folder; of a file over 1 MB its size. Raises OSError."""
    status = status_at(folder, path)
    if status is not None and stat.S_ISREG(status.st_mode) and status.st_size > IN_MEMORY:
        return f"{status.st_size} bytes"
    found = side_at(folder, path)
    return "special" if found is None else found.side.digest
